//! Token counts that belong to a message and are made once per estimator.
//!
//! Many strategies replay one log, and most of them count alike. A count is therefore kept with the
//! message, under the estimator's id, and shared by every history that holds the message.

use std::sync::{Arc, Mutex, PoisonError};

/// Tokens of one message under one estimator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Tokens of each part, in order.
    pub parts: Box<[u64]>,
    /// Tokens that the message costs besides its parts (role, separators).
    pub overhead: u64,
}

impl Counts {
    /// Tokens of the whole message.
    pub fn total(&self) -> u64 {
        self.overhead + self.parts.iter().sum::<u64>()
    }
}

/// The counts of one message, one set per estimator id.
///
/// Cloning a message starts with an empty cache, and two messages are equal whatever is cached.
#[derive(Debug, Default)]
pub struct CountCache(Mutex<Vec<(Arc<str>, Arc<Counts>)>>);

impl CountCache {
    /// The counts under `estimator`, made by `count` the first time.
    pub fn get_or_count(
        &self,
        estimator: &Arc<str>,
        count: impl FnOnce() -> Counts,
    ) -> Arc<Counts> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counts)) = cached.iter().find(|(id, _)| id == estimator) {
            return Arc::clone(counts);
        }
        let counts = Arc::new(count());
        cached.push((Arc::clone(estimator), Arc::clone(&counts)));
        counts
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
