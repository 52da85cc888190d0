//! What many sessions have in common, kept once: what they are billed by, reasons for doing nothing.

use super::bill::{Billed, Bills};
use super::record::Inaction;
use crate::read::recorder::RecorderPolicy;
use dashmap::DashMap;
use rustc_hash::FxBuildHasher;
use std::hash::Hash;
use std::sync::Arc;

/// Values that many sessions of a comparison have in common, each stored once.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Of formats and models.
    pub(crate) names: Distinct<str>,
    pub(super) billed: Distinct<[Billed]>,
    pub(super) inactions: Distinct<Inaction>,
    /// That of sessions without usage.
    pub(super) no_recorder: Arc<RecorderPolicy>,
}

impl Common {
    /// Bills with the list of what they were made by stored once.
    pub(super) fn share(&self, mut bills: Bills) -> Bills {
        bills.by = self.billed.one(&bills.by);
        bills
    }
}

/// A set of values in which equal values share one allocation.
#[derive(Debug)]
pub(crate) struct Distinct<T: ?Sized>(DashMap<Arc<T>, (), FxBuildHasher>)
where
    Arc<T>: Eq + Hash;

impl<T: Eq + Hash + ?Sized> Default for Distinct<T> {
    fn default() -> Self {
        Self(DashMap::default())
    }
}

impl<T: Eq + Hash + ?Sized> Distinct<T> {
    /// The stored value that equals this one.
    pub(crate) fn one(&self, value: &Arc<T>) -> Arc<T> {
        Arc::clone(self.0.entry(Arc::clone(value)).or_default().key())
    }
}
