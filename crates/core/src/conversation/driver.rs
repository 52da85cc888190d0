//! What happens at a moment: which stages run, in which order, and which are held back.

use super::{Breaker, Conversation, FoldId};
use crate::event::Event;
use crate::log::Usage;
use crate::moment::{Moment, Trigger};
use crate::outcome::{Outcome, Why};
use crate::plan::Plan;
use crate::stage::{Decision, OverflowPolicy, Pressure, Scene, UsageReading, UsageSource};
use crate::strategy::Bound;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracing::Instrument as _;

/// What comes with a moment.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Usage of the last answer.
    pub usage: Option<UsageReading>,
    /// Instructions that a person gave for the summary.
    pub instructions: Option<String>,
}

/// Which kind of stage a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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

impl Conversation {
    /// Runs whatever the strategy runs at this moment, and reports on every stage that ran.
    ///
    /// At [`Moment::Manual`] the policy is not asked: a person did. A strategy without a filter then
    /// runs its pruners. Dropping the future leaves the view as the last stage that ended left it.
    pub async fn at(&mut self, moment: Moment, signals: Signals) -> Vec<Report> {
        let span = tracing::info_span!(
            "foldback.compaction",
            strategy = %self.strategy.name,
            moment = moment.as_str(),
            outcome = tracing::field::Empty,
            tokens_before = tracing::field::Empty,
            tokens_after = tracing::field::Empty,
            "gen_ai.conversation.compacted" = tracing::field::Empty,
        );
        let reports = self.run(moment, &signals).instrument(span.clone()).await;
        let changed = reports.iter().rfind(|report| report.outcome.changed());
        span.record("gen_ai.conversation.compacted", changed.is_some());
        if let (Some(first), Some(last)) = (reports.first(), reports.last()) {
            span.record("outcome", changed.unwrap_or(last).outcome.name());
            span.record("tokens_before", first.tokens_before);
            span.record("tokens_after", last.tokens_after);
        }
        reports
    }

    async fn run(&mut self, moment: Moment, signals: &Signals) -> Vec<Report> {
        let strategy = Arc::clone(&self.strategy);
        let manual = moment == Moment::Manual;
        if moment == Moment::TurnStart {
            self.close_breaker();
        }
        let mut reports = Vec::new();
        let off = !manual && !self.automatic;
        for pruner in &strategy.pruners {
            let runs = pruner.when.contains(&moment) || (manual && strategy.filter.is_none());
            if runs && off {
                reports.push(self.switched_off(moment, &pruner.name, StageRole::Pruner));
            } else if runs {
                let report = self.prune(pruner, moment);
                self.tell(&report);
                reports.push(report);
            }
        }
        if manual {
            if let Some(filter) = &strategy.filter {
                let fold = self.fold(filter, moment, None, signals, &mut reports);
                let boundary = fold.await;
                if boundary.is_some() {
                    self.close_breaker();
                }
                self.tell_hooks(boundary.as_ref()).await;
            }
            return reports;
        }
        let policy = strategy.overflow.as_ref();
        let Some(policy) = policy.filter(|policy| policy.when.contains(&moment)) else {
            return reports;
        };
        if off {
            reports.push(self.switched_off(moment, &policy.name, StageRole::Overflow));
            return reports;
        }
        let decision = self.decide(policy, moment, signals);
        if decision.fold {
            self.counters.overflow_detections += 1;
        }
        match &strategy.filter {
            Some(filter) if decision.fold => match self.held_back(moment) {
                Some(outcome) => {
                    let report = self.idle(moment, &policy.name, StageRole::Overflow, outcome);
                    self.tell(&report);
                    reports.push(report.with(Some(decision), signals));
                }
                None => {
                    let fold = self.fold(filter, moment, Some(decision), signals, &mut reports);
                    let boundary = fold.await;
                    self.judge(policy, moment, reports.last());
                    self.tell_hooks(boundary.as_ref()).await;
                }
            },
            _ => {
                let why = Why::new("below-threshold", decision.reason.clone());
                let report =
                    self.idle(moment, &policy.name, StageRole::Overflow, Outcome::Unchanged(why));
                reports.push(report.with(Some(decision), signals));
            }
        }
        reports
    }

    /// The plans that a moment would commit now, without committing them. Each is made on the state
    /// after the one before, so only the first can be [committed](Self::commit) as it is.
    ///
    /// Costs a copy of the overlay, not of any message; summaries are written as they would be, by the
    /// model that would write them. Hooks are asked, but not told of a fold; observers hear nothing, and
    /// no id of the conversation's own is used up.
    pub async fn preview(&self, moment: Moment, signals: Signals) -> Vec<Arc<Plan>> {
        let mut copy = self.clone();
        copy.services = self.services.for_preview(self.revision);
        let had = copy.folds.len();
        copy.at(moment, signals).await;
        copy.folds.into_iter().skip(had).map(|fold| fold.plan).collect()
    }

    /// What the policy says at a moment.
    pub fn decide(
        &self,
        policy: &Bound<dyn OverflowPolicy>,
        moment: Moment,
        signals: &Signals,
    ) -> Decision {
        let meter = &self.meters[policy.estimator];
        policy.stage.decide(&Pressure {
            moment,
            view_tokens: meter.view_tokens(),
            frame_tokens: meter.frame_tokens(),
            usage: signals.usage,
            limits: self.limits,
            model: self.model.as_deref(),
            yields: &self.yields,
        })
    }

    pub(super) fn scene(&self, moment: Moment, estimator: usize) -> Scene<'_> {
        Scene {
            moment,
            trigger: Trigger::Auto,
            history: &self.history,
            view: &self.view,
            meter: &self.meters[estimator],
            frame: &self.frame,
            limits: self.limits,
            model: self.model.as_deref(),
            decision: None,
            instructions: &[],
            services: &self.services,
        }
    }

    /// Why an automatic fold that the policy asks for is not tried.
    fn held_back(&self, moment: Moment) -> Option<Outcome> {
        let now = (self.history.log_len(), self.answers);
        if let Some(then) = self.folded_at.filter(|_| self.strategy.guards.repeat) {
            if then == now {
                return Some(Outcome::Unchanged(Why::new(
                    "nothing-appended",
                    "nothing was appended since the last automatic compaction",
                )));
            }
            if then.1 == now.1 {
                return Some(Outcome::Skipped(Why::new(
                    "no-model-step",
                    "the model has not answered since the last automatic compaction",
                )));
            }
        }
        let limit = self.strategy.guards.breaker;
        self.breaker.holds(moment, limit).map(Outcome::Skipped)
    }

    /// Books whether an automatic fold was of any use.
    fn judge(
        &mut self,
        policy: &Bound<dyn OverflowPolicy>,
        moment: Moment,
        report: Option<&Report>,
    ) {
        let useful = match report.map(|report| &report.outcome) {
            Some(Outcome::Changed | Outcome::Degraded(_)) => {
                moment.is_reactive() || !self.would_fold_again(policy)
            }
            Some(Outcome::Failed(_)) => false,
            // It cost nothing.
            Some(Outcome::Unchanged(_) | Outcome::Skipped(_)) | None => return,
        };
        let limit = self.strategy.guards.breaker;
        if let Some((open, fruitless)) = self.breaker.book(moment, useful, limit) {
            self.services.emit(&Event::Breaker { open, fruitless });
        }
    }

    /// Whether the policy would fire on the view as it is, its size taken for the usage that the next
    /// answer will report.
    fn would_fold_again(&self, policy: &Bound<dyn OverflowPolicy>) -> bool {
        let meter = &self.meters[policy.estimator];
        let usage =
            Usage { uncached: meter.frame_tokens() + meter.view_tokens(), ..Usage::default() };
        let signals = Signals {
            usage: Some(UsageReading { usage, source: UsageSource::Synthesised }),
            instructions: None,
        };
        self.decide(policy, Moment::CallStart, &signals).fold
    }

    /// Tries again whatever was held back.
    pub(super) fn close_breaker(&mut self) {
        let fruitless = self.breaker.open(self.strategy.guards.breaker);
        self.breaker = Breaker::default();
        if let Some(fruitless) = fruitless {
            let open = false;
            self.services.emit(&Event::Breaker { open, fruitless });
        }
    }

    fn switched_off(&self, moment: Moment, stage: &str, role: StageRole) -> Report {
        let why = Why::new("switched-off", "automatic compaction is switched off here");
        self.idle(moment, stage, role, Outcome::Skipped(why))
    }
}
