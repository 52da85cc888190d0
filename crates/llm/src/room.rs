//! How large a request is, how large it may be, and how a conversation is cut into chunks that fit.
//!
//! The summarizing model's own tokenizer is not known here, so sizes are chosen high: a text counts by
//! the strategy's estimator or as a token per three bytes, whichever is more. A provider that refuses a
//! request anyway has shown that the room is smaller than was believed; from then on half of what
//! it refused is taken for the room.

use foldback_core::provider::{CompletionRequest, ErrorKind};
use foldback_core::stage::Estimator;
use std::ops::Range;

/// A size, or a limit of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) tokens: u64,
    pub(crate) bytes: usize,
}

impl Size {
    pub(crate) fn from_text(text: &str, estimator: &dyn Estimator) -> Self {
        let by_bytes = u64::try_from(text.len().div_ceil(3)).unwrap_or(u64::MAX);
        Self { tokens: estimator.text(text).max(by_bytes), bytes: text.len() }
    }

    pub(crate) fn from_request(request: &CompletionRequest, estimator: &dyn Estimator) -> Self {
        let turns = request.turns.iter().map(|turn| turn.text.as_str());
        std::iter::once(request.system.as_str())
            .chain(turns)
            .map(|text| Self::from_text(text, estimator))
            .fold(Self::default(), Self::plus)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// What is left of a limit besides `other`.
    pub(crate) fn less(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }

    fn is_within(self, limit: Self) -> bool {
        self.tokens <= limit.tokens && self.bytes <= limit.bytes
    }
}

/// Why a request can't be sent, or was refused: too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    /// In tokens or in bytes.
    pub(crate) kind: ErrorKind,
    pub(crate) why: String,
}

/// The largest request that is believed to be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room(Size);

impl Room {
    pub(crate) fn new(tokens: u64, bytes: usize) -> Self {
        Self(Size { tokens, bytes })
    }

    pub(crate) fn size(self) -> Size {
        self.0
    }

    pub(crate) fn check(self, size: Size) -> Result<(), TooLarge> {
        let Size { tokens, bytes } = self.0;
        if size.tokens > tokens {
            return Err(TooLarge {
                kind: ErrorKind::ContextOverflow,
                why: format!("about {} tokens, room for {tokens}", size.tokens),
            });
        }
        if size.bytes > bytes {
            return Err(TooLarge {
                kind: ErrorKind::TooLarge,
                why: format!("{} bytes, at most {bytes}", size.bytes),
            });
        }
        Ok(())
    }

    /// A provider refused a request of this size.
    pub(crate) fn refused(&mut self, size: Size, kind: ErrorKind) {
        if kind == ErrorKind::TooLarge {
            self.0.bytes = self.0.bytes.min(size.bytes / 2);
        } else {
            self.0.tokens = self.0.tokens.min(size.tokens / 2);
        }
    }
}

/// After who speaks, before the rest of a message that did not fit into one chunk.
const CONTINUED: &str = ", continued]: ";

/// A piece of what the harness said in a person's place.
const HARNESS_CONTINUED: &str = "harness, continued";

/// Room that a piece leaves for who speaks, for [`CONTINUED`] and for the line break between pieces.
const SEAM: Size = Size { tokens: 32, bytes: 32 };

/// The blocks, those that are larger than a chunk in pieces, each of which says who speaks: a chunk that
/// begins in the middle of a tool output must not be taken for what a person said.
pub(crate) fn pieces(blocks: &[String], limit: Size, estimator: &dyn Estimator) -> Vec<String> {
    let limit = limit.less(SEAM);
    let mut out = Vec::with_capacity(blocks.len());
    for block in blocks {
        let first = out.len();
        split(block, limit, estimator, &mut out);
        let mut speaker = "";
        let mut rest = block.as_str();
        let mut at_line = true;
        for piece in &mut out[first..] {
            let (own, more) = rest.split_at(piece.len());
            // Only the harness's own lines begin with a bracket.
            if !(at_line && own.starts_with('[')) {
                piece.insert_str(0, &format!("[{speaker}{CONTINUED}"));
            }
            let lines = own.lines().skip(usize::from(!at_line));
            speaker = lines.filter_map(speaks).last().unwrap_or(speaker);
            at_line = own.ends_with('\n');
            rest = more;
        }
    }
    out
}

/// The speaker from a line on, in one word; `None` if the speaker does not change.
fn speaks(line: &str) -> Option<&str> {
    let (who, _) = line.strip_prefix('[')?.split_once("]: ")?;
    if matches!(who.split_once(", "), Some((role, "by the harness")) if !role.contains(' '))
        || who == HARNESS_CONTINUED
    {
        return Some("harness");
    }
    let word = who.split([' ', ',']).next().unwrap_or(who);
    ["user", "assistant", "tool", "system", "earlier"].contains(&word).then_some(word)
}

/// Halves a text until every piece is within the limit; at a line break if there is one.
fn split(text: &str, limit: Size, estimator: &dyn Estimator, out: &mut Vec<String>) {
    let middle = text.floor_char_boundary(text.len() / 2);
    if middle == 0 || Size::from_text(text, estimator).is_within(limit) {
        out.push(text.to_owned());
        return;
    }
    let line_break = text[..middle].rfind('\n').map(|at| at + 1);
    let at = line_break.filter(|at| *at > middle / 2).unwrap_or(middle);
    split(&text[..at], limit, estimator, out);
    split(&text[at..], limit, estimator, out);
}

/// As many pieces to a chunk as fit, in order.
pub(crate) fn chunks(
    pieces: &[String],
    limit: Size,
    estimator: &dyn Estimator,
) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut filled = Size::default();
    for (at, piece) in pieces.iter().enumerate() {
        // The line break; and rounding, which may differ between a text and its pieces.
        let size = Size::from_text(piece, estimator).plus(Size { tokens: 1, bytes: 1 });
        match out.last_mut() {
            Some(chunk) if filled.plus(size).is_within(limit) => {
                chunk.end = at + 1;
                filled = filled.plus(size);
            }
            _ => {
                out.push(at..at + 1);
                filled = size;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::registry::StageConfig;
    use foldback_stages::estimator::CharsConfig;
    use std::sync::Arc;

    fn chars(per_token: u64) -> Arc<dyn Estimator> {
        let config = CharsConfig { per_token, ..CharsConfig::default() };
        config.build().unwrap()
    }

    #[test]
    fn the_larger_of_both_counts() {
        let one = chars(1);
        let four = chars(4);
        assert_eq!(Size::from_text("abcdef", &*one).tokens, 6);
        assert_eq!(Size::from_text("abcdef", &*four).tokens, 2);
        assert_eq!(Size::from_text("日本", &*four).tokens, 2);
    }

    #[test]
    fn a_refusal_makes_the_room_smaller_never_larger() {
        let mut room = Room::new(100, 300);
        let size = |tokens, bytes| Size { tokens, bytes };
        room.refused(size(90, 270), ErrorKind::ContextOverflow);
        assert_eq!(room.size(), size(45, 300));
        room.refused(size(400, 1_200), ErrorKind::TooLarge);
        assert_eq!(room.size(), size(45, 300));
        room.refused(size(40, 120), ErrorKind::TooLarge);
        assert_eq!(room.size(), size(45, 60));
        assert!(room.check(size(45, 60)).is_ok());
        let kinds = [size(46, 60), size(45, 61)].map(|size| room.check(size).map_err(|e| e.kind));
        assert_eq!(kinds, [Err(ErrorKind::ContextOverflow), Err(ErrorKind::TooLarge)]);
    }

    #[test]
    fn chunks_are_within_the_limit_and_lose_nothing() {
        let estimator = chars(1);
        let blocks = [
            "[user]: a".to_owned(),
            format!("[tool x]: {}", "ä\n".repeat(100)),
            "[user]: z".to_owned(),
        ];
        for tokens in [64, 100, 300] {
            let limit = Size { tokens, bytes: 1_000 };
            let pieces = pieces(&blocks, limit, &*estimator);
            let chunks = chunks(&pieces, limit, &*estimator);
            assert_eq!(chunks.first().map(|chunk| chunk.start), Some(0));
            assert_eq!(chunks.last().map(|chunk| chunk.end), Some(pieces.len()));
            for chunk in &chunks {
                let text = pieces[chunk.clone()].join("\n");
                assert!(Size::from_text(&text, &*estimator).is_within(limit), "{tokens}: {text:?}");
            }
            let all: String = pieces.iter().map(|p| p.replace("[tool, continued]: ", "")).collect();
            assert_eq!(all, blocks.concat());
        }
    }

    #[test]
    fn every_piece_says_who_speaks() {
        let estimator = chars(1);
        let limit = Size { tokens: 64, bytes: 1_000 };
        let long = "word ".repeat(20);
        let firsts = |block: &str| -> Vec<String> {
            let mut pieces = pieces(&[block.to_owned()], limit, &*estimator);
            // What is left is cut anew before each request.
            pieces = super::pieces(&pieces, limit, &*estimator);
            let head = |piece: String| piece.split_once("]: ").map(|(who, _)| who.to_owned());
            pieces.into_iter().map(|p| head(p).unwrap()).collect()
        };
        let cases = [
            ("[user]: ", "[user, continued"),
            ("[tool bash failed]: ", "[tool, continued"),
            ("[tool x, by the harness]: ", "[tool, continued"),
            ("[user, by the harness]: ", "[harness, continued"),
            ("[assistant call]: f(", "[assistant, continued"),
            ("[earlier summary]: ", "[earlier, continued"),
            ("[user]: [tool x]: ", "[user, continued"),
        ];
        for (start, expected) in cases {
            let found = firsts(&format!("{start}{long}"));
            assert!(found.len() > 2, "{start}: {found:?}");
            assert!(found[1..].iter().all(|who| who == expected), "{start}: {found:?}");
        }
        let two = format!("[assistant]: {long}\n[assistant call]: read({long})");
        let found = firsts(&two);
        assert!(found.contains(&"[assistant, continued".to_owned()), "{found:?}");
    }
}
