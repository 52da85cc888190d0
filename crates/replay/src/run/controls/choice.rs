//! Which unit is evicted next: the one that is needed least for its size.

use super::holders::UnitId;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What a unit is worth, and what it gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worth {
    /// Uses that would be lost.
    pub(super) uses: u32,
    /// Tokens that would be gained; above 0.
    pub(super) gain: u64,
}

impl Ord for Worth {
    /// Fewest uses per token first; of equals, the largest.
    fn cmp(&self, other: &Self) -> Ordering {
        let [mine, theirs] =
            [(self, other), (other, self)].map(|(a, b)| u128::from(a.uses) * u128::from(b.gain));
        mine.cmp(&theirs).then(other.gain.cmp(&self.gain))
    }
}

impl PartialOrd for Worth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Fewest uses per token first. Worths that have changed since stay in the heap and are passed over
/// when they come up.
#[derive(Debug, Default)]
pub(super) struct Greedy(BinaryHeap<Reverse<(Worth, UnitId)>>);

impl Greedy {
    /// A unit can go from now on, or goes at another price.
    pub(super) fn put(&mut self, unit: UnitId, price: Worth) {
        self.0.push(Reverse((price, unit)));
    }

    /// The next unit to go, out of those that `price` still knows; it can't be taken again until it is put again.
    pub(super) fn take(&mut self, price: impl Fn(UnitId) -> Option<Worth>) -> Option<UnitId> {
        while let Some(Reverse((put, unit))) = self.0.pop() {
            if price(unit) == Some(put) {
                return Some(unit);
            }
        }
        None
    }
}
