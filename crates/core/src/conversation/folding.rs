//! What becomes of what stages propose: a pruning, or a fold that commits whole or not at all.

use super::driver::{Report, Signals, StageRole};
use super::planning::Changes;
use super::summaries::Stop;
use super::{Conversation, FoldId};
use crate::counters::Counters;
use crate::event::{Event, StartSource};
use crate::moment::{Moment, Trigger};
use crate::outcome::{Outcome, Why};
use crate::plan::{Edit, Plan};
use crate::stage::{Decision, Filter, Pruner, Pruning};
use crate::strategy::Bound;
use std::sync::Arc;

impl Report {
    pub(super) fn with(mut self, decision: Option<Decision>, signals: &Signals) -> Self {
        self.decision = decision;
        self.usage_source = signals.usage.map(|usage| usage.source);
        self
    }
}

/// A conversation whose tool results were cleared for a summary that is not there yet. Unless the
/// fold commits, the clearings are taken back: when it fails, and when the future is dropped while a
/// model is asked.
struct Prepared<'c> {
    conversation: &'c mut Conversation,
    folds: usize,
    counters: Counters,
    committed: bool,
}

impl<'c> Prepared<'c> {
    fn new(conversation: &'c mut Conversation) -> Self {
        Self {
            folds: conversation.folds.len(),
            counters: conversation.counters,
            conversation,
            committed: false,
        }
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if !self.committed {
            while self.conversation.folds.len() > self.folds {
                self.conversation.undo_last();
            }
            self.conversation.counters = self.counters;
        }
    }
}

impl Conversation {
    pub(super) fn prune(&mut self, pruner: &Bound<dyn Pruner>, moment: Moment) -> Report {
        let proposal = pruner.stage.prune(&self.scene(moment, pruner.estimator));
        let before = self.meters[0].view_tokens();
        let (outcome, fold) = match self.unpinned(proposal) {
            Pruning::Nothing(why) => (Outcome::Unchanged(why), None),
            Pruning::Edits { edits, prunable, reason } => {
                let arrangement = Changes { edits, reasons: vec![reason], ..Changes::default() };
                let plan = self.plan(&pruner.name, moment, Trigger::Auto, arrangement);
                let plan = Plan { prunable, ..plan };
                match self.check_and_commit(plan) {
                    Err(why) => (Outcome::Failed(why), None),
                    Ok(fold) => (Outcome::Changed, Some(fold)),
                }
            }
        };
        let report = self.idle(moment, &pruner.name, StageRole::Pruner, outcome);
        Report { tokens_before: before, fold, ..report }
    }

    /// One fold: what hooks say, prunings that prepare it, summaries, and the commit. Gives the boundary
    /// where it was committed.
    pub(super) async fn fold(
        &mut self,
        filter: &Bound<dyn Filter>,
        moment: Moment,
        decision: Option<Decision>,
        signals: &Signals,
        reports: &mut Vec<Report>,
    ) -> Option<Event> {
        let trigger = match decision {
            Some(_) => Trigger::Auto,
            None => Trigger::Manual,
        };
        let tokens = self.meters[0].view_tokens();
        self.services.emit(&Event::PreCompact {
            moment,
            trigger,
            tokens,
            estimator: Arc::clone(self.strategy.estimator().id()),
        });
        let first = reports.len();
        let mut tokens_before = tokens;
        let ended = match self.instructions(moment, trigger, tokens, signals).await {
            Err(why) => Err(Outcome::Skipped(why)),
            Ok(instructions) => {
                let mut prepared = Prepared::new(self);
                prepared.conversation.prepare(reports);
                tokens_before = prepared.conversation.meters[0].view_tokens();
                let ended = prepared
                    .conversation
                    .attempt(filter, moment, trigger, decision.as_ref(), &instructions)
                    .await;
                prepared.committed = ended.is_ok() || !prepared.conversation.strategy.guards.atomic;
                if !prepared.committed {
                    taken_back(&mut reports[first..]);
                    tokens_before = tokens;
                }
                ended
            }
        };
        let (outcome, fold) = match ended {
            Ok((outcome, fold)) => (outcome, Some(fold)),
            Err(outcome) => (outcome, None),
        };
        if let Outcome::Failed(_) = outcome {
            self.counters.failures += 1;
        }
        // Only now it is known what became of the prunings.
        for report in &reports[first..] {
            self.tell(report);
        }
        let boundary = fold.and_then(|_| self.announce(trigger));
        let report = Report {
            tokens_before,
            fold,
            ..self.idle(moment, &filter.name, StageRole::Fold, outcome)
        };
        self.tell(&report);
        reports.push(report.with(decision, signals));
        boundary
    }

    fn prepare(&mut self, reports: &mut Vec<Report>) {
        let strategy = Arc::clone(&self.strategy);
        let moment = Moment::BeforeSummary;
        for pruner in strategy.pruners.iter().filter(|p| p.when.contains(&moment)) {
            reports.push(self.prune(pruner, moment));
        }
    }

    /// The summaries, the plan, the commit.
    async fn attempt(
        &mut self,
        filter: &Bound<dyn Filter>,
        moment: Moment,
        trigger: Trigger,
        decision: Option<&Decision>,
        instructions: &[String],
    ) -> Result<(Outcome, FoldId), Outcome> {
        let changes = self.arrange(filter, moment, trigger, decision, instructions).await.map_err(
            |stop| match stop {
                Stop::Nothing(why) => Outcome::Unchanged(why),
                Stop::Failed(why) => Outcome::Failed(why),
            },
        )?;
        let degraded = changes.degraded.clone();
        let mut plan = self.plan(&filter.name, moment, trigger, changes);
        plan.decision = decision.cloned();
        let fold = self.check_and_commit(plan).map_err(Outcome::Failed)?;
        Ok((degraded.map_or(Outcome::Changed, Outcome::Degraded), fold))
    }

    /// Tells observers of the last fold, and gives the boundary for hooks.
    fn announce(&self, trigger: Trigger) -> Option<Event> {
        let plan = &self.folds.last()?.plan;
        let boundary = Event::Boundary {
            trigger,
            tokens_before: plan.tokens_before,
            tokens_after: plan.tokens_after,
            estimator: Arc::clone(&plan.estimator),
        };
        self.services.emit(&boundary);
        self.services.emit(&Event::SessionStart { source: StartSource::Compact });
        Some(boundary)
    }

    /// Tells hooks of a fold, once everything about it is booked.
    pub(super) async fn tell_hooks(&self, boundary: Option<&Event>) {
        if let Some(event) = boundary {
            for hook in &self.services.hooks {
                hook.after(event).await;
            }
        }
    }

    /// A proposal without what it would do to pinned messages.
    fn unpinned(&self, proposal: Pruning) -> Pruning {
        match proposal {
            Pruning::Edits { edits, mut prunable, reason } if !self.pinned.is_empty() => {
                let (kept, edits): (Vec<Edit>, Vec<Edit>) =
                    edits.into_iter().partition(|edit| self.pinned.contains(&edit.at.item));
                for edit in &kept {
                    prunable = prunable.saturating_sub(edit.before);
                }
                if edits.is_empty() {
                    return Pruning::Nothing(Why::new(
                        "pinned",
                        "everything it would edit is pinned",
                    ));
                }
                Pruning::Edits { edits, prunable, reason }
            }
            proposal => proposal,
        }
    }

    fn check_and_commit(&mut self, plan: Plan) -> Result<FoldId, Why> {
        self.strategy.guards.check(&self.history, &plan)?;
        let now = self.services.clock.now();
        Ok(self.apply_and_book(plan, now))
    }

    /// A report on a stage that changed nothing, without an event.
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

    /// Tells observers how a stage ended.
    pub(super) fn tell(&self, report: &Report) {
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

/// Reports on prunings that did not outlive the fold that they prepared.
fn taken_back(reports: &mut [Report]) {
    for report in reports.iter_mut().filter(|report| report.fold.is_some()) {
        report.outcome =
            Outcome::Skipped(Why::new("taken-back", "the fold that it prepared was not committed"));
        report.tokens_after = report.tokens_before;
        report.fold = None;
    }
}
