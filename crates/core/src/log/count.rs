//! Token counts that belong to a message and are made once per estimator.
//!
//! Many strategies replay one log, and most of them count in the same way. A count is therefore kept with the
//! message, under the estimator's id, and shared by every history that holds the message.

use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// Tokens of one message under one estimator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Tokens of each part, in order. Hardly any message has more than two.
    pub parts: SmallVec<[u64; 2]>,
    /// Tokens of the message outside its parts (role, separators).
    pub overhead: u64,
}

impl Counts {
    /// Tokens of the whole message.
    pub fn total(&self) -> u64 {
        self.overhead + self.parts.iter().sum::<u64>()
    }
}

/// The counts of one message, one set per estimator id. The first estimator's are in the message
/// itself: an agent has but one. The others that a comparison brings stand side by side.
///
/// Cloning a message starts with an empty cache, and two messages are equal whatever is cached.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct CountCache {
    first: Slot,
    more: OnceLock<Box<More>>,
}

type Slot = OnceLock<(Arc<str>, Counts)>;

#[derive(Debug, Default)]
struct More {
    slots: [Slot; 3],
    more: OnceLock<Box<Self>>,
}

impl CountCache {
    /// The counts under `estimator`, made by `count` the first time.
    #[doc(hidden)]
    pub fn get_or_count(&self, estimator: &Arc<str>, count: impl Fn() -> Counts) -> &Counts {
        // Another thread may have put another estimator's counts into a slot in the meantime.
        let own = |slot| {
            let (id, counts) = Slot::get_or_init(slot, || (Arc::clone(estimator), count()));
            (id == estimator).then_some(counts)
        };
        if let Some(counts) = own(&self.first) {
            return counts;
        }
        let mut more = &self.more;
        loop {
            let next = more.get_or_init(Box::default);
            if let Some(counts) = next.slots.iter().find_map(own) {
                return counts;
            }
            more = &next.more;
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

impl Eq for CountCache {}
