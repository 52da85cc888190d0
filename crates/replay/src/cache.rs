//! A provider's prompt cache, simulated: what of a request was the beginning of the one before.
//!
//! A request is a list of blocks, the frame first, then one block a message. The cache holds the
//! blocks of the previous request; what the two have in common from the start is read, the rest is
//! written. Source of the two figures: prefix caching as Anthropic, OpenAI and Google document it in
//! 2026. Not modelled here: the minimum prefix, granularity and lifetime.

use foldback_core::conversation::Conversation;
use foldback_core::view::{PartPos, Place};
use std::hash::{DefaultHasher, Hash, Hasher};

/// One block: what it is, and its tokens by the measuring estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Same content, same key. A message of the history is known by its place and by what is laid
    /// over it; contents need not be compared.
    pub key: u64,
    /// Its tokens.
    pub tokens: u64,
}

/// What the cache did for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheRead {
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens that were in the cache and had to be written again, because something before them had
    /// changed: `min(previous, this) - read`. Zero for an append-only history.
    pub churn: u64,
}

/// The cache of one replay.
#[derive(Clone, Debug, Default)]
pub struct PrefixCache {
    blocks: Vec<Block>,
    total: u64,
    /// Number of commits that the blocks were taken at, and how much of the view they cover.
    folds: u64,
    warm: bool,
}

impl PrefixCache {
    /// Sends the current view of a conversation, counted by the meter with this index.
    ///
    /// Between folds the view only grows, so only what was appended is looked at.
    pub fn send(&mut self, conversation: &Conversation, meter: usize) -> CacheRead {
        let counts = conversation.meter(meter);
        let places = conversation.view().places();
        let folds = conversation.folds().last().map_or(0, |fold| fold.id);
        let frame = Block { key: u64::MAX, tokens: counts.frame_tokens() };
        let total = counts.frame_tokens() + counts.view_tokens();
        let read = if self.warm && folds == self.folds {
            let known = self.blocks.len() - 1;
            self.blocks
                .extend(places.iter().skip(known).map(|place| block(conversation, meter, *place)));
            self.total
        } else {
            let blocks: Vec<Block> = std::iter::once(frame)
                .chain(places.iter().map(|place| block(conversation, meter, *place)))
                .collect();
            let common: u64 = blocks
                .iter()
                .zip(&self.blocks)
                .take_while(|(new, old)| new == old)
                .map(|(new, _)| new.tokens)
                .sum();
            self.blocks = blocks;
            common
        };
        let churn = if self.warm { self.total.min(total).saturating_sub(read) } else { 0 };
        self.total = total;
        self.folds = folds;
        self.warm = true;
        CacheRead { read, churn }
    }
}

pub(crate) fn block(conversation: &Conversation, meter: usize, place: Place) -> Block {
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
