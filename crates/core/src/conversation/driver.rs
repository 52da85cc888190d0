//! What happens at a moment: which stages run, in which order, and what becomes of their proposals.

use super::planning::Changes;
use super::summaries::Stop;
use super::{Conversation, FoldId};
use crate::event::{Event, StartSource};
use crate::moment::{Moment, Trigger};
use crate::outcome::{Outcome, Why};
use crate::plan::Plan;
use crate::stage::{
    Decision, Filter, OverflowPolicy, Pressure, Pruner, Pruning, Scene, UsageReading, UsageSource,
};
use crate::strategy::Bound;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    /// runs its pruners.
    pub async fn at(&mut self, moment: Moment, signals: Signals) -> Vec<Report> {
        let strategy = Arc::clone(&self.strategy);
        let mut reports = Vec::new();
        let manual = moment == Moment::Manual;
        for pruner in &strategy.pruners {
            if pruner.when.contains(&moment) || (manual && strategy.filter.is_none()) {
                reports.push(self.prune(pruner, moment));
            }
        }
        if manual {
            if let Some(filter) = &strategy.filter {
                self.fold(
                    filter,
                    moment,
                    Trigger::Manual,
                    None,
                    &signals,
                    &mut reports,
                )
                .await;
            }
            return reports;
        }
        let Some(policy) = &strategy.overflow else {
            return reports;
        };
        if !policy.when.contains(&moment) {
            return reports;
        }
        let decision = self.decide(policy, moment, &signals);
        if decision.fold {
            self.counters.overflow_detections += 1;
        }
        match &strategy.filter {
            Some(filter) if decision.fold => {
                if let Some(why) = self.nothing_appended() {
                    let outcome = Outcome::Unchanged(why);
                    reports.push(self.idle(
                        moment,
                        &policy.name,
                        outcome,
                        Some(decision),
                        &signals,
                    ));
                } else {
                    self.fold(
                        filter,
                        moment,
                        Trigger::Auto,
                        Some(decision),
                        &signals,
                        &mut reports,
                    )
                    .await;
                }
            }
            _ => {
                let outcome =
                    Outcome::Unchanged(Why::new("below-threshold", decision.reason.clone()));
                reports.push(self.idle(moment, &policy.name, outcome, Some(decision), &signals));
            }
        }
        reports
    }

    /// The plans that a moment would commit now, without committing them.
    pub async fn preview(&self, moment: Moment, signals: Signals) -> Vec<Arc<Plan>> {
        let mut copy = self.clone();
        copy.services.observers.clear();
        let had = copy.folds.len();
        copy.at(moment, signals).await;
        copy.folds
            .into_iter()
            .skip(had)
            .map(|fold| fold.plan)
            .collect()
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

    fn nothing_appended(&self) -> Option<Why> {
        let unchanged = self.folded_at == Some(self.history.log_len());
        (self.strategy.guards.repeat && unchanged).then(|| {
            Why::new(
                "nothing-appended",
                "nothing was appended since the last automatic compaction",
            )
        })
    }

    fn prune(&mut self, pruner: &Bound<dyn Pruner>, moment: Moment) -> Report {
        let proposal = pruner.stage.prune(&self.scene(moment, pruner.estimator));
        let before = self.meters[0].view_tokens();
        let (outcome, fold) = match proposal {
            Pruning::Nothing(why) => (Outcome::Unchanged(why), None),
            Pruning::Edits {
                edits,
                prunable,
                reason,
            } => {
                let arrangement = Changes {
                    edits,
                    reasons: vec![reason],
                    ..Changes::default()
                };
                let plan = self.plan(&pruner.name, moment, Trigger::Auto, arrangement);
                let plan = Plan { prunable, ..plan };
                let reclaimed = plan.reclaimed;
                match self.check_and_commit(plan) {
                    Err(why) => (Outcome::Failed(why), None),
                    Ok(fold) => {
                        self.counters.prune_operations += 1;
                        self.counters.tokens_pruned += prunable;
                        self.counters.tokens_reclaimed += reclaimed;
                        self.counters.tokens_before_total += before;
                        (Outcome::Changed, Some(fold))
                    }
                }
            }
        };
        self.report(
            moment,
            &pruner.name,
            StageRole::Pruner,
            outcome,
            before,
            fold,
        )
    }

    async fn fold(
        &mut self,
        filter: &Bound<dyn Filter>,
        moment: Moment,
        trigger: Trigger,
        decision: Option<Decision>,
        signals: &Signals,
        reports: &mut Vec<Report>,
    ) {
        let strategy = Arc::clone(&self.strategy);
        let tokens = self.meters[0].view_tokens();
        let estimator = Arc::clone(strategy.estimator().id());
        self.services.emit(&Event::PreCompact {
            moment,
            trigger,
            tokens,
            estimator: Arc::clone(&estimator),
        });
        let instructions = match self.instructions(moment, trigger, tokens, signals).await {
            Ok(instructions) => instructions,
            Err(why) => {
                let outcome = Outcome::Skipped(why);
                let mut report =
                    self.report(moment, &filter.name, StageRole::Fold, outcome, tokens, None);
                report.decision = decision;
                report.usage_source = signals.usage.map(|usage| usage.source);
                reports.push(report);
                return;
            }
        };
        for pruner in strategy
            .pruners
            .iter()
            .filter(|p| p.when.contains(&Moment::BeforeSummary))
        {
            let report = self.prune(pruner, Moment::BeforeSummary);
            reports.push(report);
        }
        let before = self.meters[0].view_tokens();
        let arranged = self
            .arrange(filter, moment, trigger, decision.as_ref(), &instructions)
            .await;
        let (outcome, fold) = match arranged {
            Err(Stop::Nothing(why)) => (Outcome::Unchanged(why), None),
            Err(Stop::Failed(why)) => (Outcome::Failed(why), None),
            Ok(changes) => {
                let degraded = changes.degraded.clone();
                let summaries = changes.summaries.len() as u64;
                let mut plan = self.plan(&filter.name, moment, trigger, changes);
                plan.decision = decision.clone();
                let (before, after) = (plan.tokens_before, plan.tokens_after);
                match self.check_and_commit(plan) {
                    Err(why) => (Outcome::Failed(why), None),
                    Ok(fold) => {
                        self.counters.folds += 1;
                        self.counters.summaries += summaries;
                        self.counters.tokens_before_total += before;
                        if trigger == Trigger::Auto {
                            self.folded_at = Some(self.history.log_len());
                        }
                        let boundary = Event::Boundary {
                            trigger,
                            tokens_before: before,
                            tokens_after: after,
                            estimator,
                        };
                        self.services.emit(&boundary);
                        self.services.emit(&Event::SessionStart {
                            source: StartSource::Compact,
                        });
                        for hook in &self.services.hooks {
                            hook.after(&boundary).await;
                        }
                        (
                            degraded.map_or(Outcome::Changed, Outcome::Degraded),
                            Some(fold),
                        )
                    }
                }
            }
        };
        if matches!(outcome, Outcome::Failed(_)) {
            self.counters.failures += 1;
        }
        let mut report = self.report(moment, &filter.name, StageRole::Fold, outcome, before, fold);
        report.decision = decision;
        report.usage_source = signals.usage.map(|usage| usage.source);
        reports.push(report);
    }

    fn check_and_commit(&mut self, plan: Plan) -> Result<FoldId, Why> {
        self.strategy.guards.check(&self.history, &plan)?;
        Ok(self.apply(plan))
    }

    fn idle(
        &self,
        moment: Moment,
        stage: &str,
        outcome: Outcome,
        decision: Option<Decision>,
        signals: &Signals,
    ) -> Report {
        let tokens = self.meters[0].view_tokens();
        Report {
            moment,
            stage: stage.to_owned(),
            role: StageRole::Overflow,
            outcome,
            decision,
            usage_source: signals.usage.map(|usage| usage.source),
            tokens_before: tokens,
            tokens_after: tokens,
            fold: None,
        }
    }

    fn report(
        &self,
        moment: Moment,
        stage: &str,
        role: StageRole,
        outcome: Outcome,
        tokens_before: u64,
        fold: Option<FoldId>,
    ) -> Report {
        let tokens_after = self.meters[0].view_tokens();
        let reclaimed = fold
            .and_then(|_| self.folds.last())
            .map_or(0, |fold| fold.plan.reclaimed);
        self.services.emit(&Event::Outcome {
            moment,
            stage: stage.to_owned(),
            outcome: outcome.clone(),
            tokens_before,
            tokens_after,
            reclaimed,
            estimator: Arc::clone(self.strategy.estimator().id()),
        });
        Report {
            moment,
            stage: stage.to_owned(),
            role,
            outcome,
            decision: None,
            usage_source: None,
            tokens_before,
            tokens_after,
            fold,
        }
    }
}
