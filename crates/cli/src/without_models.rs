//! Without the feature `llm` no model is asked: a strategy that needs one can't run.

use crate::args::SummaryArgs;
use crate::error::Error;
use crate::progress::Progress;
use crate::strategies::Contender;
use crate::summaries::Choice;
use foldback_core::provider::Model;
use foldback_replay::Setup;
use std::sync::Arc;

/// No answers.
#[derive(Debug)]
pub(crate) enum Answers {}

impl Answers {
    pub(crate) fn open(
        args: &SummaryArgs,
        contenders: &[Contender],
        _: &[Choice],
        _: &Setup,
    ) -> Result<Option<Self>, Error> {
        let wanted = contenders.iter().any(|contender| !contender.asked.is_empty());
        if wanted || args.cassette.is_some() || args.dry_run || args.budget_usd.is_some() {
            return Err(Error::left_out("what asks models", "llm"));
        }
        Ok(None)
    }

    pub(crate) fn model(&self, _: usize) -> Arc<dyn Model> {
        match *self {}
    }

    pub(crate) fn show(&self, _: &Progress) {
        match *self {}
    }

    pub(crate) fn finish(
        &self,
        _: Option<u64>,
        _: &dyn Fn(usize) -> String,
    ) -> Result<Option<String>, Error> {
        match *self {}
    }
}
