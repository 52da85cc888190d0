//! Without the feature `llm` no model is asked: a strategy that needs one can't run.

use crate::args::SummaryArgs;
use crate::error::Error;
use crate::progress::Progress;
use crate::summaries::Choice;
use foldback_core::provider::{Asks, Model};
use foldback_replay::{Preset, Setup};
use std::sync::Arc;

/// No answers.
#[derive(Debug)]
pub(crate) struct Answers;

impl Answers {
    pub(crate) fn open(
        args: &SummaryArgs,
        presets: &[Preset],
        _: &[(String, Asks)],
        _: &[Choice],
        _: &Setup,
    ) -> Result<Self, Error> {
        let wanted = presets.iter().any(|preset| !preset.strategy.asks().is_empty());
        if wanted || args.cassette.is_some() || args.dry_run || args.budget_usd.is_some() {
            return Err(Error::left_out("what asks models", "llm"));
        }
        Ok(Self)
    }

    pub(crate) fn asks(&self) -> bool {
        false
    }

    pub(crate) fn model(&self, _: usize) -> Option<Arc<dyn Model>> {
        None
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        None
    }

    pub(crate) fn show(&self, _: &Progress) {}

    pub(crate) fn finish(
        &self,
        _: Option<u64>,
        _: &dyn Fn(usize) -> String,
    ) -> Result<Option<String>, Error> {
        Ok(None)
    }
}
