//! What many sessions have in common, kept once: names of regimes, reasons for doing nothing, small counts.

use super::record::Inaction;
use super::score::Exam;
use crate::availability::MustKeep;
use crate::measures::position::Positions;
use rustc_hash::FxHashSet;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Of all sessions of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Common {
    pub(super) regimes: Distinct<str>,
    pub(super) reasons: Distinct<Inaction>,
    pub(super) must_keep: Distinct<MustKeep>,
    pub(super) positions: Distinct<Positions>,
    /// That of sessions in which no strategy fired.
    pub(super) no_exam: Arc<Exam>,
}

/// A set of values that gives each out as the one that it has.
#[derive(Debug)]
pub(super) struct Distinct<T: ?Sized>(Mutex<FxHashSet<Arc<T>>>);

impl<T: ?Sized> Default for Distinct<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Eq + Hash + ?Sized> Distinct<T> {
    /// The one that equals this value.
    pub(super) fn one(&self, value: &Arc<T>) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = values.get(value) {
            return Arc::clone(known);
        }
        values.insert(Arc::clone(value));
        Arc::clone(value)
    }
}
