//! What a study needs besides its source.

use super::common::Common;
use super::keys::Names;
use crate::judge::cost::{NamedTerms, ServiceTerms};
use crate::read::split::Split;
use crate::rows::store::Store;
use crate::run::setup::{Preset, Setup};
use std::sync::Arc;

/// How a comparison is run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Where results are kept.
    pub store: &'a Store,
    /// Called once per preset and session when done.
    pub progress: &'a (dyn Fn() + Sync),
    /// Whether a warning of an importer is an error.
    pub strict: bool,
}

/// What a study needs besides its source.
pub(crate) struct Context<'a> {
    pub(crate) presets: &'a [Preset],
    pub(crate) setup: &'a Setup,
    /// The same for every session.
    pub(crate) names: Arc<Names>,
    pub(crate) store: &'a Store,
    pub(crate) common: Common,
    /// Every regime with a price.
    pub(crate) regimes: Vec<NamedTerms>,
    /// The part of the sessions that is studied; all where not given.
    pub(crate) split: Option<Split>,
    /// Called once per preset that is done with a session.
    pub(crate) progress: &'a (dyn Fn() + Sync),
}

impl<'a> Context<'a> {
    /// For the sources of one run.
    pub(crate) fn new(
        presets: &'a [Preset],
        setup: &'a Setup,
        split: Option<Split>,
        run: Run<'a>,
    ) -> Self {
        Self {
            presets,
            setup,
            names: Names::new(setup, presets),
            store: run.store,
            common: Common::default(),
            regimes: setup.named_terms(),
            split,
            progress: run.progress,
        }
    }

    /// Every regime with a price, and the model's own, by what a session's recorder asked of the cache.
    pub(super) fn terms(&self, model: Option<&str>, asked: ServiceTerms) -> Vec<NamedTerms> {
        self.regimes.iter().cloned().chain(self.setup.own(model, asked)).collect()
    }
}
