//! From what the model of the cache says to what was paid.
//!
//! The recorder's requests go through the same model of the cache as those of every preset. What was paid for them by the
//! recorded usage, to what the model says of them, is a factor of the session. Every bill of the session is multiplied by it:
//! that of the recorder is then what was paid, and that of a preset is what was paid times the model's ratio.

use super::bill::{Billed, Bills};
use super::facts::Facts;
use super::record::{Knowledge, Record};

/// The factors of a session, by regime and pauses; none where it is not known what was paid, or what was sent for it.
#[derive(Debug, Default)]
pub(super) struct Paid {
    factors: Vec<(Billed, f64)>,
}

impl Paid {
    /// By the record of the recorder.
    pub(super) fn new(facts: &Facts, recorded: &Record) -> Self {
        if recorded.known == Knowledge::Nothing {
            return Self::default();
        }
        let factor = |spent: f64, modelled: f64| {
            let factor = spent / modelled;
            (factor.is_finite() && factor > 0.0).then_some(factor)
        };
        let factors = recorded.bills.iter().filter_map(|(by, bill)| {
            let (_, spent) = facts.spent.iter().find(|(regime, _)| *regime == by.regime)?;
            Some((by.clone(), factor(*spent, bill.usd)?))
        });
        Self { factors: factors.collect() }
    }

    /// Whether it is known what was paid.
    pub(super) fn is_known(&self) -> bool {
        !self.factors.is_empty()
    }

    /// Bills of the session as they would have been paid.
    pub(super) fn bills(&self, bills: Bills) -> Bills {
        bills.scaled(|by| Some(self.factors.iter().find(|(known, _)| known == by)?.1))
    }
}
