//! Who refers to whom?
//!
//! The document counts references and does not say what one is. Here a later message refers to an
//! earlier one if it names it as its parent, holds the result of one of its calls, or has its id (or
//! the id of one of its calls) in its text. A message counts once, however often it refers.
//!
//! Ids are found in one pass over the texts: only words of ASCII letters, digits, `_` and `-` are
//! looked up, with at least six characters of which one is a digit. Ids of another shape are known by
//! parent and result alone.

use crate::score::Evidence;
use foldback_core::history::History;
use foldback_core::log::{Message, Part, PartKind};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

const SHORTEST_ID: usize = 6;

/// What is known of a message whatever is folded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageFacts {
    /// When it was recorded.
    pub(crate) at: Option<i64>,
    /// What it shows itself, and how many later messages refer to it; without its age.
    pub(crate) evidence: Evidence,
}

/// Gives `look` what is known of each message of a history, by position. The history keeps it, so a fold
/// reads only the messages that came since the one before.
pub(crate) fn read<T>(history: &History, look: impl FnOnce(&[MessageFacts]) -> T) -> T {
    let kept: &Mutex<(usize, References)> = history.derived().get_or(Mutex::default);
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let (withdrawn, references) = &mut *kept;
    if *withdrawn != history.withdrawn() {
        // What was taken back refers to nothing any more.
        (*withdrawn, *references) = (history.withdrawn(), References::default());
    }
    for pos in references.seen.len()..history.len() {
        references.add(history.get(pos).map(|message| &**message));
    }
    look(&references.seen)
}

/// Who refers to whom, as far as messages were read, oldest first.
#[derive(Default)]
struct References {
    /// Where an id stands; the latest message where ids repeat.
    places: HashMap<String, usize>,
    /// Which lengths ids have, as a bit set, so that most words need no lookup.
    lengths: u128,
    seen: Vec<MessageFacts>,
    found: Vec<usize>,
}

impl References {
    /// The next message; `None` for one that was withdrawn.
    fn add(&mut self, message: Option<&Message>) {
        let place = self.seen.len();
        let Some(message) = message else {
            self.seen.push(MessageFacts::default());
            return;
        };
        self.seen.push(MessageFacts { at: message.at, evidence: Evidence::from_message(message) });
        let mut found = std::mem::take(&mut self.found);
        found.extend(message.parent.as_deref().and_then(|id| self.get(id)));
        found.extend(words(message).filter_map(|word| self.get(word)));
        let results = message.parts.iter().filter_map(|part| part.as_result());
        found.extend(results.filter_map(|result| self.get(&result.call_id)));
        found.sort_unstable();
        found.dedup();
        for target in found.drain(..) {
            self.seen[target].evidence.references += 1;
        }
        self.found = found;
        for id in std::iter::once(message.id.as_str()).chain(message.call_ids()) {
            self.places.insert(id.to_owned(), place);
            self.lengths |= 1 << id.len().min(127);
        }
    }

    fn get(&self, id: &str) -> Option<usize> {
        let known = self.lengths >> id.len().min(127) & 1 == 1;
        known.then(|| self.places.get(id).copied()).flatten()
    }
}

/// The words of a message that may be ids.
fn words(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(text_of).flat_map(words_in)
}

/// The text in which ids are looked for.
fn text_of(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Text { text, .. } => Some(text),
        PartKind::Call(call) => Some(&call.arguments),
        PartKind::Result(result) => Some(&result.text),
        _ => None,
    }
}

fn words_in(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    // From digit to digit: most words have none.
    let with_digit = std::iter::from_fn(move || {
        let digit = at + next_digit(&bytes[at..])?;
        let gap = bytes[at..digit].iter().rposition(|byte| !is_word(*byte));
        let start = gap.map_or(at, |gap| at + gap + 1);
        let rest = &bytes[digit..];
        at = digit + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        Some(start..at)
    });
    with_digit.filter(|word| word.len() >= SHORTEST_ID).map(|word| &text[word])
}

/// Where the next digit is. Many bytes are looked at together, as the processor can.
fn next_digit(bytes: &[u8]) -> Option<usize> {
    const TOGETHER: usize = 32;
    let has_none =
        |bytes: &&[u8]| !bytes.iter().fold(false, |any, byte| any | byte.is_ascii_digit());
    let clear = TOGETHER * bytes.chunks_exact(TOGETHER).take_while(has_none).count();
    Some(clear + bytes[clear..].iter().position(u8::is_ascii_digit)?)
}

/// Whether a byte may be part of an id that is looked for. A table: every byte of a history passes here.
fn is_word(byte: u8) -> bool {
    const TABLE: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte: u8 = 0;
        while byte < 128 {
            table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            byte += 1;
        }
        table
    };
    TABLE[byte as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::{Part, Role};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_those_of_the_plain_definition(text in "([a-z]{0,40}[0-9_ é.-]{0,3}){0,6}") {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let words = text.split(|c| !is_word(c)).filter(|word| word.len() >= SHORTEST_ID);
            let expected: Vec<_> = words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).collect();
            prop_assert_eq!(words_in(&text).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn references_as_a_table() {
        let asked = || Message::user("msg-123", "look");
        let replying = |id: &str, parent: &str| Message::user(id, "yes").with_parent(parent);
        let calling = || {
            Message::new(
                "msg-200",
                Role::Assistant,
                vec![Part::call("call_1a", "read", "{}"), Part::call("call_1b", "read", "{}")],
            )
        };
        let naming = Part::call("c", "read", "{\"of\":\"msg-123\"}");
        let cases: [(&str, Vec<Message>, Vec<u32>); 11] = [
            ("nobody", vec![asked(), Message::user("b", "no")], vec![0, 0]),
            ("by parent", vec![asked(), replying("b", "msg-123")], vec![1, 0]),
            (
                "by id, twice in one message",
                vec![asked(), Message::user("b", "see msg-123, I say msg-123.")],
                vec![1, 0],
            ),
            (
                "by id, in the arguments of a call",
                vec![asked(), Message::assistant("b", vec![naming])],
                vec![1, 0],
            ),
            (
                "by id, in a result",
                vec![asked(), Message::tool("b", "c", "read", "it is msg-123")],
                vec![1, 0],
            ),
            (
                "an id inside a longer word",
                vec![asked(), Message::user("b", "see msg-1234")],
                vec![0, 0],
            ),
            (
                "an id too plain to be looked for",
                vec![Message::user("7", "a"), Message::user("b", "7 apples")],
                vec![0, 0],
            ),
            (
                "an id that is a plain word",
                vec![Message::user("release", "a"), Message::user("b", "a release")],
                vec![0, 0],
            ),
            (
                "earlier messages do not refer",
                vec![Message::user("b", "see msg-123"), asked()],
                vec![0, 0],
            ),
            (
                "by results",
                vec![
                    calling(),
                    Message::tool("r1", "call_1a", "read", "x"),
                    Message::tool("r2", "call_1b", "read", "y"),
                ],
                vec![2, 0, 0],
            ),
            (
                "parent and result are one message",
                vec![calling(), Message::tool("r1", "call_1a", "read", "x").with_parent("msg-200")],
                vec![1, 0],
            ),
        ];
        for (name, messages, expect) in cases {
            let mut history = History::default();
            for message in messages {
                history.append(message.into());
                // Read after each message, so that every step of growth is tried.
                read(&history, |_| ());
            }
            let references =
                |seen: &[MessageFacts]| seen.iter().map(|s| s.evidence.references).collect();
            let references: Vec<u32> = read(&history, references);
            assert_eq!(references, expect, "{name}");
        }
    }
}
