//! The requests of one replay, each stored as its difference from the one before.

use foldback_core::conversation::Conversation;
use foldback_core::delta::ViewDelta;
use foldback_core::log::Message;
use foldback_core::meter::Meter;
use foldback_core::view::{PartPos, Place};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// One block of a request: the frame, or a message as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Same content, same key. A message of the history is known by its place and by what is laid
    /// over it; contents need not be compared.
    pub key: u64,
    /// Its tokens by the measuring estimator.
    pub tokens: u64,
}

impl Block {
    /// What makes two blocks the same one.
    fn mark(self) -> u64 {
        mix(self.key ^ self.tokens.wrapping_mul(GOLDEN))
    }
}

/// A prefix of a request that the request before does not begin with, but an earlier one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Revived {
    /// Its tokens.
    pub(super) tokens: u64,
    /// Number of the last request that began with it.
    pub(super) last: usize,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentRequest {
    /// Number of leading blocks that are those of the request before.
    pub kept: usize,
    /// Their tokens.
    pub kept_tokens: u64,
    /// Size of the whole request, in tokens.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Searches of the web that the provider made for it.
    pub web_searches: u64,
    /// When it was sent, in milliseconds since the Unix epoch, where recorded.
    pub start_ms: Option<i64>,
    /// Where its other blocks are in [`RequestLog::marks`].
    added: (usize, usize),
    /// Longer prefixes that earlier requests had, shortest first.
    pub(super) revived: Vec<Revived>,
}

/// The requests of one replay, in order. Time and memory grow with what changes, not with the number
/// of calls times their size.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    requests: Vec<SentRequest>,
    marks: Vec<u64>,
    /// By block of the latest request: hash and tokens of the prefix that it ends.
    latest: Vec<(u64, u64)>,
    /// By the hash of the first prefix that a request gave up, the requests before: these had it last.
    given_up: HashMap<u64, Vec<usize>>,
}

impl RequestLog {
    /// The requests.
    pub fn requests(&self) -> &[SentRequest] {
        &self.requests
    }

    /// When the requests were sent.
    pub fn starts(&self) -> Vec<Option<i64>> {
        self.requests.iter().map(|request| request.start_ms).collect()
    }

    /// Whether every request says when it was sent, and there is one.
    pub fn timed(&self) -> bool {
        let mut requests = self.requests.iter();
        !self.requests.is_empty() && requests.all(|request| request.start_ms.is_some())
    }

    /// Adds a request that begins with the first `same` blocks of the one before, as far as that has so
    /// many; `blocks` are those after them.
    pub fn push(
        &mut self,
        same: usize,
        blocks: impl IntoIterator<Item = Block>,
        start_ms: Option<i64>,
        output_tokens: u64,
    ) {
        let same = same.min(self.latest.len());
        let mut blocks = blocks.into_iter().peekable();
        let mut kept = same;
        // What comes may be what was there.
        while let Some((hash, _)) = self.latest.get(kept)
            && let Some(block) = blocks.peek()
            && chain(self.hash(kept), *block) == *hash
        {
            kept += 1;
            blocks.next();
        }
        let number = self.requests.len();
        if kept < self.latest.len() {
            let first = self.latest[kept].0;
            self.given_up.entry(first).or_default().push(number - 1);
            self.latest.truncate(kept);
        }
        let kept_tokens = self.tokens();
        let from = self.marks.len();
        let (mut revived, mut holders, mut matching) = (Vec::new(), Vec::new(), true);
        for block in blocks {
            let prefix = (chain(self.hash(self.latest.len()), block), self.tokens() + block.tokens);
            if matching {
                let at = self.latest.len();
                holders.retain(|holder| self.mark(*holder, at) == Some(block.mark()));
                holders.extend(self.given_up.get(&prefix.0).into_iter().flatten());
                match holders.iter().max() {
                    Some(last) => revived.push(Revived { tokens: prefix.1, last: *last }),
                    None => matching = false,
                }
            }
            self.marks.push(block.mark());
            self.latest.push(prefix);
        }
        self.requests.push(SentRequest {
            kept,
            kept_tokens,
            input_tokens: self.tokens(),
            output_tokens,
            web_searches: 0,
            start_ms,
            added: (from, self.marks.len()),
            revived,
        });
    }

    /// Adds what a conversation sends. `delta` is what changed since the call before, `meter` the index
    /// of the meter that measures.
    pub(crate) fn send(
        &mut self,
        conversation: &Conversation,
        delta: &ViewDelta,
        meter: usize,
        answer: &Message,
    ) {
        let counts = conversation.meter(meter);
        let output = output_tokens(counts, answer);
        let frame = Block { key: u64::MAX, tokens: counts.frame_tokens() };
        let frame = self.requests.is_empty().then_some(frame);
        let places = conversation.view().places().iter().skip(delta.same_places);
        let blocks = places.map(|place| block(conversation, meter, *place));
        let same = delta.same_places + usize::from(frame.is_none());
        self.push(same, frame.into_iter().chain(blocks), start_of(conversation, answer), output);
        if let (Some(sent), Some(answer)) = (self.requests.last_mut(), &answer.answer) {
            sent.web_searches = answer.web_searches;
        }
    }

    fn tokens(&self) -> u64 {
        self.latest.last().map_or(0, |(_, tokens)| *tokens)
    }

    /// Hash of the first `length` blocks of the latest request.
    fn hash(&self, length: usize) -> u64 {
        length.checked_sub(1).map_or(0, |last| self.latest[last].0)
    }

    /// The block of a request at an index.
    fn mark(&self, mut request: usize, at: usize) -> Option<u64> {
        while at < self.requests[request].kept {
            request -= 1;
        }
        let SentRequest { kept, added: (from, to), .. } = self.requests[request];
        self.marks[from..to].get(at - kept).copied()
    }
}

/// Tokens of an answer: by its provider's count, else by the meter. A count of less than half of what the
/// answer shows can't be right; recorders that write an answer down while it still streams keep a placeholder.
pub(crate) fn output_tokens(meter: &Meter, answer: &Message) -> u64 {
    let shown = meter.measure(answer);
    recorded_output(answer).filter(|recorded| recorded * 2 >= shown).unwrap_or(shown)
}

/// Tokens of an answer by its provider's count, where recorded.
pub(crate) fn recorded_output(answer: &Message) -> Option<u64> {
    let usage = answer.answer.as_ref()?.usage?;
    Some(usage.output_total())
}

fn block(conversation: &Conversation, meter: usize, place: Place) -> Block {
    let mut hasher = DefaultHasher::new();
    match place {
        Place::Insert(index) => (1u8, index).hash(&mut hasher),
        Place::Item(pos) => {
            (0u8, pos).hash(&mut hasher);
            let from = PartPos { item: pos, part: 0 };
            let to = PartPos { item: pos + 1, part: 0 };
            for (at, edit) in conversation.view().edits().range(from..to) {
                (at.part, &*edit.text).hash(&mut hasher);
            }
        }
    }
    Block { key: hasher.finish(), tokens: conversation.meter(meter).shown(place) }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of a prefix that is longer by one block.
fn chain(hash: u64, block: Block) -> u64 {
    mix(hash.rotate_left(23) ^ block.mark())
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// When a request was sent: as recorded, else when the latest message before it was stored.
fn start_of(conversation: &Conversation, answer: &Message) -> Option<i64> {
    let history = conversation.history();
    let started = answer.answer.as_ref().and_then(|answer| answer.started);
    started
        .or_else(|| {
            let last = history.len().checked_sub(1)?;
            history.message(last).at
        })
        .or(answer.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::Part;
    use foldback_core::log::{Answer, Usage};
    use foldback_stages::estimator::CharsConfig;
    use std::sync::Arc;

    #[test]
    fn a_placeholder_is_no_count() {
        let meter = Meter::new(Arc::new(CharsConfig::default().estimator().unwrap()));
        // recorded output, tokens of the answer; it shows 100
        for (recorded, tokens) in
            [(None, 100), (Some(1), 100), (Some(49), 100), (Some(50), 50), (Some(300), 300)]
        {
            let usage = recorded.map(|output| Usage { output, ..Usage::default() });
            let answer = Message::assistant("a", vec![Part::text("x".repeat(400))])
                .with_answer(Answer { usage, ..Answer::default() });
            assert_eq!(output_tokens(&meter, &answer), tokens, "{recorded:?}");
        }
    }
}
