//! Which unit is evicted next: any, or the one that is needed least for its size.

use super::holders::UnitId;
use crate::stats::SplitMix64;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;

/// What a unit is worth, and what it gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worth {
    /// Uses that would be lost.
    pub(super) uses: u32,
    /// Tokens that would be gained; above 0.
    pub(super) gain: u64,
    /// Whether messages would go, not only the content of a tool result.
    pub(super) messages: bool,
}

impl Ord for Worth {
    /// Fewest uses per token first; of equals, results before messages and then the largest.
    fn cmp(&self, other: &Self) -> Ordering {
        let [mine, theirs] =
            [(self, other), (other, self)].map(|(a, b)| u128::from(a.uses) * u128::from(b.gain));
        mine.cmp(&theirs).then(self.messages.cmp(&other.messages)).then(other.gain.cmp(&self.gain))
    }
}

impl PartialOrd for Worth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Chooses among the units that can go.
pub(super) trait Choice: fmt::Debug {
    /// A unit can go from now on, or goes at another price.
    fn put(&mut self, unit: UnitId, price: Worth);

    /// The next unit to go, out of those that `price` still knows; it can't be taken again until it is
    /// put again.
    fn take(&mut self, price: &dyn Fn(UnitId) -> Option<Worth>) -> Option<UnitId>;
}

/// Fewest uses per token first. Worths that have changed since stay in the heap and are passed over
/// when they come up.
#[derive(Debug, Default)]
pub(super) struct Greedy(BinaryHeap<Reverse<(Worth, UnitId)>>);

impl Choice for Greedy {
    fn put(&mut self, unit: UnitId, price: Worth) {
        self.0.push(Reverse((price, unit)));
    }

    fn take(&mut self, price: &dyn Fn(UnitId) -> Option<Worth>) -> Option<UnitId> {
        while let Some(Reverse((put, unit))) = self.0.pop() {
            if price(unit) == Some(put) {
                return Some(unit);
            }
        }
        None
    }
}

/// Any tool result, and if there is none, any other unit.
#[derive(Debug)]
pub(super) struct Random {
    rng: SplitMix64,
    results: Vec<UnitId>,
    others: Vec<UnitId>,
    listed: Vec<bool>,
}

impl Random {
    pub(super) fn new(seed: u64, units: usize) -> Self {
        Self {
            rng: SplitMix64::new(seed),
            results: Vec::new(),
            others: Vec::new(),
            listed: vec![false; units],
        }
    }
}

impl Choice for Random {
    fn put(&mut self, unit: UnitId, price: Worth) {
        if std::mem::replace(&mut self.listed[unit], true) {
            return;
        }
        if price.messages {
            self.others.push(unit);
        } else {
            self.results.push(unit);
        }
    }

    fn take(&mut self, price: &dyn Fn(UnitId) -> Option<Worth>) -> Option<UnitId> {
        for pool in [&mut self.results, &mut self.others] {
            while !pool.is_empty() {
                let unit = pool.swap_remove(self.rng.below(pool.len()));
                self.listed[unit] = false;
                if price(unit).is_some() {
                    return Some(unit);
                }
            }
        }
        None
    }
}
