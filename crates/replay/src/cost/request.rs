//! The requests of one replay, each stored as what differs from the one before.

pub use crate::cache::Block;
use crate::cache::block;
use crate::drive::Probe;
use foldback_core::conversation::Conversation;
use foldback_core::log::Message;

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Number of leading blocks that are those of the request before.
    pub kept: usize,
    /// The blocks behind them.
    pub added: Vec<Block>,
    /// Size of the whole request, in tokens.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// When it was sent, in milliseconds since the Unix epoch, where recorded.
    pub start_ms: Option<i64>,
}

/// The requests of one replay, in order. Memory grows with what changes, not with the number of calls
/// times their size.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    requests: Vec<Request>,
    /// Blocks of the latest request.
    latest: Vec<Block>,
    meter: usize,
    folds: Option<u64>,
}

impl RequestLog {
    /// An empty log that counts by the conversation's meter with this index when it looks on.
    pub fn new(meter: usize) -> Self {
        Self { meter, ..Self::default() }
    }

    /// The requests.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Whether every request says when it was sent, and there is one.
    pub fn timed(&self) -> bool {
        let mut requests = self.requests.iter();
        !self.requests.is_empty() && requests.all(|request| request.start_ms.is_some())
    }

    /// The same requests sent at other times, by number of the call.
    #[must_use]
    pub fn starting(&self, at: impl Fn(usize) -> Option<i64>) -> Self {
        let mut log = self.clone();
        for (call, request) in log.requests.iter_mut().enumerate() {
            request.start_ms = at(call);
        }
        log
    }

    /// Adds a request given as a whole.
    pub fn push(&mut self, blocks: Vec<Block>, start_ms: Option<i64>, output_tokens: u64) {
        let kept = self.latest.iter().zip(&blocks).take_while(|(old, new)| old == new).count();
        let added = blocks[kept..].to_vec();
        self.append(kept, added, start_ms, output_tokens);
    }

    fn append(&mut self, kept: usize, added: Vec<Block>, start_ms: Option<i64>, output: u64) {
        self.latest.truncate(kept);
        self.latest.extend_from_slice(&added);
        self.requests.push(Request {
            kept,
            added,
            input_tokens: self.latest.iter().map(|block| block.tokens).sum(),
            output_tokens: output,
            start_ms,
        });
    }
}

impl Probe for RequestLog {
    fn call(&mut self, conversation: &Conversation, _call: usize, answer: &Message) {
        let places = conversation.view().places();
        let folds = Some(conversation.folds().last().map_or(0, |fold| fold.id));
        let at = |place| block(conversation, self.meter, place);
        let usage = answer.answer.as_ref().and_then(|answer| answer.usage);
        let output = usage.map_or_else(
            || conversation.meter(self.meter).measure(answer),
            |usage| usage.output + usage.reasoning,
        );
        let start = start_of(conversation, answer);
        if folds == self.folds && !self.latest.is_empty() {
            // Between folds a view only grows.
            let kept = self.latest.len();
            let added = places.iter().skip(kept - 1).map(|place| at(*place)).collect();
            self.append(kept, added, start, output);
        } else {
            let frame =
                Block { key: u64::MAX, tokens: conversation.meter(self.meter).frame_tokens() };
            let blocks =
                std::iter::once(frame).chain(places.iter().map(|place| at(*place))).collect();
            self.folds = folds;
            self.push(blocks, start, output);
        }
    }
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
