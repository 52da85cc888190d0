//! Token counts that belong to a message and are made once per estimator.
//!
//! Many strategies replay one log, and most of them count alike. A count is therefore kept with the
//! message, under the estimator's id, and shared by every history that holds the message.

use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// Tokens of one message under one estimator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Tokens of each part, in order. Hardly any message has more than two.
    pub parts: SmallVec<[u64; 2]>,
    /// Tokens that the message costs besides its parts (role, separators).
    pub overhead: u64,
}

impl Counts {
    /// Tokens of the whole message.
    pub fn total(&self) -> u64 {
        self.overhead + self.parts.iter().sum::<u64>()
    }
}

/// The counts of one message, one set per estimator id: a list to which every estimator that meets the
/// message adds its own.
///
/// Cloning a message starts with an empty cache, and two messages are equal whatever is cached.
#[derive(Debug, Default)]
pub struct CountCache(OnceLock<Box<Entry>>);

#[derive(Debug)]
struct Entry {
    estimator: Arc<str>,
    counts: Counts,
    next: CountCache,
}

impl CountCache {
    /// The counts under `estimator`, made by `count` the first time.
    pub fn get_or_count(&self, estimator: &Arc<str>, count: impl Fn() -> Counts) -> &Counts {
        let mut cache = self;
        loop {
            let entry = cache.0.get_or_init(|| {
                let (estimator, counts) = (Arc::clone(estimator), count());
                Box::new(Entry { estimator, counts, next: Self::default() })
            });
            // Another thread may have put another estimator's counts here in the meantime.
            if entry.estimator == *estimator {
                return &entry.counts;
            }
            cache = &entry.next;
        }
    }
}

impl Clone for CountCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for CountCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
