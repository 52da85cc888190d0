//! Which facts a context holds, and what would be lost with each of its units.

use super::foresight::FactId;

/// Number of a unit: something that goes or stays as a whole.
pub(super) type UnitId = usize;

/// Facts and the units that hold them.
///
/// A unit is *used* once for every fact that is wanted and that it alone holds: what is held twice can
/// be lost once for nothing.
#[derive(Clone, Debug)]
pub(super) struct FactHolders {
    /// By fact, how many units hold it.
    holders: Vec<u32>,
    /// By fact, the sum of the numbers of these units; of one alone, its number.
    sum: Vec<usize>,
    /// By fact, whether a call needs it before anything brings it again.
    wanted: Vec<bool>,
    /// By unit.
    uses: Vec<u32>,
    /// Units whose uses changed since they were last asked for.
    changed: Vec<UnitId>,
}

impl FactHolders {
    pub(super) fn new(facts: usize) -> Self {
        Self {
            holders: vec![0; facts],
            sum: vec![0; facts],
            wanted: vec![false; facts],
            uses: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// There are so many units now.
    pub(super) fn grow(&mut self, units: usize) {
        self.uses.resize(units, 0);
    }

    pub(super) fn uses(&self, unit: UnitId) -> u32 {
        self.uses[unit]
    }

    /// The units whose uses changed since the last time.
    pub(super) fn changed(&mut self) -> Vec<UnitId> {
        std::mem::take(&mut self.changed)
    }

    /// A unit comes to hold facts that it did not hold.
    pub(super) fn add(&mut self, unit: UnitId, facts: &[FactId]) {
        for fact in facts {
            self.change(*fact, |this, at| {
                this.holders[at] += 1;
                this.sum[at] += unit;
            });
        }
    }

    /// A unit loses facts that it held.
    pub(super) fn remove(&mut self, unit: UnitId, facts: &[FactId]) {
        for fact in facts {
            self.change(*fact, |this, at| {
                this.holders[at] -= 1;
                this.sum[at] -= unit;
            });
        }
    }

    /// Facts are wanted from now on.
    pub(super) fn want(&mut self, facts: &[FactId]) {
        for fact in facts {
            self.change(*fact, |this, at| this.wanted[at] = true);
        }
    }

    /// Facts were used and are not wanted any more.
    pub(super) fn release(&mut self, facts: &[FactId]) {
        for fact in facts {
            self.change(*fact, |this, at| this.wanted[at] = false);
        }
    }

    fn change(&mut self, fact: FactId, make: impl FnOnce(&mut Self, usize)) {
        let at = fact as usize;
        if let Some(unit) = self.only_holder(at) {
            self.uses[unit] -= 1;
            self.changed.push(unit);
        }
        make(self, at);
        if let Some(unit) = self.only_holder(at) {
            self.uses[unit] += 1;
            self.changed.push(unit);
        }
    }

    /// The unit that alone holds a fact that is wanted.
    fn only_holder(&self, at: usize) -> Option<UnitId> {
        (self.wanted[at] && self.holders[at] == 1).then(|| self.sum[at])
    }
}
