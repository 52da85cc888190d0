//! What comes with a moment, and what is reported on the stages that ran at it.

use super::{Conversation, FoldId};
use crate::event::Event;
use crate::moment::Moment;
use crate::outcome::{Outcome, Why};
use crate::stage::{Decision, UsageReading, UsageSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What comes with a moment.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Usage of the last answer. The conversation keeps it for the moments up to the next answer.
    pub usage: Option<UsageReading>,
    /// Instructions that a person gave for the summary.
    pub instructions: Option<String>,
}

/// Which kind of stage a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StageRole {
    /// A pruner.
    Pruner,
    /// A policy that did not ask for a fold.
    Overflow,
    /// Policy, filter and summarizer together: a fold.
    Fold,
}

/// What one stage did at a moment, with its numbers and where they come from.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// When.
    pub moment: Moment,
    /// Name of the stage.
    pub stage: String,
    /// Which kind of stage.
    pub role: StageRole,
    /// How it ended.
    pub outcome: Outcome,
    /// What the policy decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Where the usage that it decided on came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_source: Option<UsageSource>,
    /// Tokens of the view before, by the strategy's estimator.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// The fold that was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold: Option<FoldId>,
}

impl Report {
    pub(super) fn with(mut self, decision: Option<Decision>, signals: &Signals) -> Self {
        self.decision = decision;
        self.usage_source = signals.usage.map(|usage| usage.source);
        self
    }

    /// Of a pruning that did not outlive the fold that it prepared.
    pub(super) fn take_back(&mut self) {
        if self.fold.take().is_some() {
            let why = Why::new("taken-back", "the fold that it prepared for was not committed");
            self.outcome = Outcome::Skipped(why);
            self.tokens_after = self.tokens_before;
        }
    }
}

impl Conversation {
    /// A report on a stage that changed nothing, without an event.
    #[doc(hidden)]
    pub fn idle(&self, moment: Moment, stage: &str, role: StageRole, outcome: Outcome) -> Report {
        let tokens = self.meters[0].view_tokens();
        Report {
            moment,
            stage: stage.to_owned(),
            role,
            outcome,
            decision: None,
            usage_source: None,
            tokens_before: tokens,
            tokens_after: tokens,
            fold: None,
        }
    }

    pub(super) fn switched_off(&self, moment: Moment, stage: &str, role: StageRole) -> Report {
        let why = Why::new("switched-off", "automatic compaction is switched off here");
        self.idle(moment, stage, role, Outcome::Skipped(why))
    }

    /// Tells observers how a stage ended.
    pub(super) fn emit_outcome(&self, report: &Report) {
        let fold = report.fold.and_then(|id| self.folds.iter().rev().find(|fold| fold.id == id));
        self.services.emit(&Event::Outcome {
            moment: report.moment,
            stage: report.stage.clone(),
            outcome: report.outcome.clone(),
            tokens_before: report.tokens_before,
            tokens_after: report.tokens_after,
            reclaimed: fold.map_or(0, |fold| fold.plan.reclaimed),
            estimator: Arc::clone(self.strategy.estimator().id()),
        });
    }
}
