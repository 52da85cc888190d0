//! The requests of one conversation, each stored as its difference from the previous one.

use foldback_core::conversation::Conversation;
use foldback_core::delta::ViewDelta;
use foldback_core::meter::MeterId;
use foldback_core::view::{PartPos, Place, Pos};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// One block of a request: the frame, or a message as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Equal content has an equal key. The key of a message is made of its position and its edits, so contents need not be
    /// compared.
    pub key: u64,
    /// Its tokens, by the measuring estimator.
    pub tokens: u64,
}

impl Block {
    /// The identity of a block.
    fn mark(self) -> u64 {
        mix(self.key ^ self.tokens.wrapping_mul(GOLDEN))
    }
}

/// A prefix of a request that an earlier request begins with and the previous one doesn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revived {
    /// Its tokens.
    pub(crate) tokens: u64,
    /// Number of the last request that began with it.
    pub(crate) last: usize,
}

/// A request without its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// When the request was sent, in milliseconds since the Unix epoch, if known.
    pub start_ms: Option<i64>,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Web searches that the provider made for the request.
    pub web_searches: u64,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentRequest {
    /// Number of leading blocks that the request shares with the previous one.
    pub kept: usize,
    /// Tokens of these blocks.
    pub kept_tokens: u64,
    /// Size of the whole request, in tokens.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Web searches that the provider made for the request.
    pub web_searches: u64,
    /// When the request was sent, in milliseconds since the Unix epoch, if recorded.
    pub start_ms: Option<i64>,
    /// Where its other blocks are in [`RequestLog::marks`].
    added: (usize, usize),
    /// Longer prefixes that earlier requests had, shortest first.
    pub(crate) revived: Vec<Revived>,
}

impl SentRequest {
    /// Tokens of the longest prefix that the request shares with any earlier request, however long ago that was.
    pub fn shared_tokens(&self) -> u64 {
        self.revived.last().map_or(self.kept_tokens, |prefix| prefix.tokens)
    }
}

/// The requests of one conversation, in order. Time and memory grow with what changes, not with the number
/// of calls times their size.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    requests: Vec<SentRequest>,
    marks: Vec<u64>,
    /// By block of the latest request: hash and tokens of the prefix that it ends.
    latest: Vec<(u64, u64)>,
    /// By the hash of the first prefix that a request gave up, the requests before: these had it last.
    given_up: HashMap<u64, Vec<usize>>,
    /// By message up to the last one with edits, their hash; 0 if it has none. A fold near the beginning sends all that
    /// follows once more.
    edits: Vec<u64>,
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

    /// Adds a request that begins with the first `same` blocks of the previous one, or with all of them if there are
    /// fewer; `blocks` follow them.
    pub fn push(&mut self, same: usize, blocks: impl IntoIterator<Item = Block>, call: Call) {
        let Call { start_ms, output_tokens, web_searches } = call;
        let same = same.min(self.latest.len());
        let mut blocks = blocks.into_iter().peekable();
        let mut kept = same;
        // The new blocks may repeat the old ones.
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
            web_searches,
            start_ms,
            added: (from, self.marks.len()),
            revived,
        });
    }

    /// Adds what a conversation sends. `delta` is what changed since the previous call; `meter` measures it.
    pub fn send(
        &mut self,
        conversation: &Conversation,
        delta: &ViewDelta,
        meter: MeterId,
        call: Call,
    ) {
        for at in &delta.edited {
            self.edits.resize(self.edits.len().max(at.item + 1), 0);
            self.edits[at.item] = edits_of(conversation, at.item);
        }
        let counts = conversation.meter(meter);
        let frame = Block { key: u64::MAX, tokens: counts.frame_tokens() };
        let frame = self.requests.is_empty().then_some(frame);
        let edits = std::mem::take(&mut self.edits);
        let key = |place: Place| match place {
            Place::Insert(index) => mix(!(index as u64)),
            Place::Item(pos) => mix(pos as u64) ^ edits.get(pos).copied().unwrap_or_default(),
        };
        let places = conversation.view().places().iter().skip(delta.same_places);
        let blocks = places.map(|place| Block { key: key(*place), tokens: counts.shown(*place) });
        let same = delta.same_places + usize::from(frame.is_none());
        self.push(same, frame.into_iter().chain(blocks), call);
        self.edits = edits;
    }

    /// An estimate of the bytes that the log takes in memory.
    pub fn bytes(&self) -> usize {
        let requests = self.requests.capacity() * size_of::<SentRequest>();
        let given_up = self.given_up.capacity() * size_of::<(u64, Vec<usize>)>();
        let blocks = self.marks.capacity() * size_of::<u64>();
        let edits = self.edits.capacity() * size_of::<u64>();
        requests + given_up + blocks + edits + self.latest.capacity() * size_of::<(u64, u64)>()
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

/// Hash of the edits over a message; 0 if it has none.
fn edits_of(conversation: &Conversation, pos: Pos) -> u64 {
    let mut hasher = DefaultHasher::new();
    let (from, to) = (PartPos { item: pos, part: 0 }, PartPos { item: pos + 1, part: 0 });
    let mut edits = conversation.view().edits().range(from..to).peekable();
    if edits.peek().is_none() {
        return 0;
    }
    edits.for_each(|(at, edit)| (at.part, &*edit.text).hash(&mut hasher));
    hasher.finish()
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of a prefix that has one more block.
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
