//! What many sessions have in common, kept once: what they are billed by, reasons for doing nothing.

use super::bill::Billed;
use super::score::Setting;
use crate::recorder::RecorderPolicy;
use rustc_hash::FxHashSet;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Of all sessions of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Of formats and models.
    pub(crate) names: Distinct<str>,
    pub(super) billed: Distinct<[Billed]>,
    pub(super) settings: Distinct<Setting>,
    /// That of sessions without usage.
    pub(super) no_recorder: Arc<RecorderPolicy>,
}

/// A set of values that gives each out as the one that it has.
#[derive(Debug)]
pub(crate) struct Distinct<T: ?Sized>(Mutex<FxHashSet<Arc<T>>>);

impl<T: ?Sized> Default for Distinct<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Eq + Hash + ?Sized> Distinct<T> {
    /// The one that equals this value.
    pub(crate) fn one(&self, value: &Arc<T>) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = values.get(value) {
            return Arc::clone(known);
        }
        values.insert(Arc::clone(value));
        Arc::clone(value)
    }
}
