//! The steps at a moment, in order.
//!
//! ```text
//! moment ─▶ pruners ─▶ policy ─▶ hooks ─▶ pruners of before-summary
//!                                            ─▶ proposal ─▶ summaries ─▶ plan ─▶ commit
//! ```
//!
//! Pruners and the policy run at the moments that the configuration gives them; what comes after the
//! policy is one fold, which [commits](super::commit) whole or not at all.

use super::commit::Prepared;
use super::report::{Report, Signals, StageRole};
use super::{Conversation, FoldId};
use crate::carry;
use crate::event::{Event, StartSource};
use crate::layout::{Insert, Layout, Slot};
use crate::log::{EntryKind, Role};
use crate::meter::{LastText, MeterId};
use crate::moment::{Moment, Trigger};
use crate::outcome::{Outcome, SUMMARY_FORM, Why};
use crate::plan::{Edit, Plan};
use crate::position::PartPos;
use crate::position::{Place, Pos};
use crate::provider::ErrorKind;
use crate::services::{BeforeCompaction, Verdict};
use crate::stage::{
    Arrangement, Checked, Continuation, DRY_RUN, Decision, Filter, OverflowPolicy, Pressure,
    Proposal, Pruner, Pruning, StageContext, Summarizer, Summary, SummaryError, SummaryRequest,
};
use crate::strategy::{Bound, OnFailure};
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::Instrument as _;

// The moment.
impl Conversation {
    /// Runs whatever the strategy runs at this moment, and reports on every stage that ran.
    ///
    /// At [`Moment::Manual`] the policy is not asked: a person did. A strategy without a filter then
    /// runs its pruners. Dropping the future leaves the view as the last stage that ended left it.
    pub async fn at(&mut self, moment: Moment, mut signals: Signals) -> Vec<Report> {
        self.usage = signals.usage.or(self.usage);
        signals.usage = self.usage;
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
                self.emit_outcome(&report);
                reports.push(report);
            }
        }
        if manual {
            if let Some(filter) = &strategy.filter {
                let boundary = self.fold(filter, moment, None, signals, &mut reports).await;
                if boundary.is_some() {
                    self.close_breaker();
                }
                self.after_fold(boundary.as_ref()).await;
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
        let pruned = reports.iter().any(|report| report.outcome.changed());
        let decision = match self.say(&policy.name, || self.decide(policy, moment, pruned)) {
            Ok(decision) if moment == Moment::Idle => strategy.idle.decide(decision),
            Ok(decision) => decision,
            Err(why) => {
                self.counters.failures += 1;
                let failed = Outcome::Failed(why);
                let report = self.idle(moment, &policy.name, StageRole::Overflow, failed);
                self.emit_outcome(&report);
                reports.push(report);
                return reports;
            }
        };
        if decision.fold {
            self.counters.overflow_detections += 1;
        }
        let idle = |conversation: &Self, outcome| {
            conversation.idle(moment, &policy.name, StageRole::Overflow, outcome)
        };
        match &strategy.filter {
            Some(filter) if decision.fold => match self.held_back(moment) {
                Some(outcome) => {
                    let report = idle(self, outcome);
                    self.emit_outcome(&report);
                    reports.push(report.with(Some(decision), signals));
                }
                None => {
                    let fold = self.fold(filter, moment, Some(decision), signals, &mut reports);
                    let boundary = fold.await;
                    self.record_use(policy, moment, reports.last());
                    self.after_fold(boundary.as_ref()).await;
                }
            },
            filter => {
                if let Some(filter) = filter {
                    let context = self.context(moment, filter.meter);
                    // It prepares for a fold, which will say what is wrong.
                    let _ = self.say(&filter.name, || filter.stage.read_ahead(&context));
                }
                let why = Why::new("below-threshold", decision.reason.clone());
                let report = idle(self, Outcome::Unchanged(why));
                reports.push(report.with(Some(decision), signals));
            }
        }
        reports
    }

    pub(super) fn context(&self, moment: Moment, meter: MeterId) -> StageContext<'_> {
        StageContext {
            moment,
            trigger: Trigger::Auto,
            history: &self.history,
            view: &self.view,
            meter: self.meter(meter),
            frame: &self.frame,
            limits: self.limits,
            model: self.model.as_deref(),
            usage: self.usage,
            fold_stats: &self.fold_stats,
            answered_views: &self.answered_views,
            prices: self.prices,
            decision: None,
            cleared: 0,
            summarised: self.strategy.summarizer.is_some()
                || self.strategy.on_failure == OnFailure::Extractive,
            refused: self.refused.as_ref(),
            instructions: &[],
            services: &self.services,
        }
    }
}

// Pruners, and the policy.
impl Conversation {
    fn prune(&mut self, pruner: &Bound<dyn Pruner>, moment: Moment) -> Report {
        let tokens_before = self.meters[0].view_tokens();
        let proposed = self.say(&pruner.name, || {
            let proposal = pruner.stage.prune(&self.context(moment, pruner.meter));
            match self.unpinned(proposal) {
                Pruning::Nothing(why) => Err(Outcome::Unchanged(why)),
                Pruning::Edits { edits, prunable, reason } => {
                    let draft = self.draft(&pruner.name, moment, Trigger::Auto);
                    Ok(self.counted(Plan { edits, prunable, reasons: vec![reason], ..draft }))
                }
            }
        });
        let (outcome, fold) = match proposed {
            Err(why) => (Outcome::Failed(why), None),
            Ok(Err(outcome)) => (outcome, None),
            Ok(Ok(plan)) => match self.check_and_commit(plan) {
                Err(why) => (Outcome::Failed(why), None),
                Ok(fold) => (Outcome::Changed, Some(fold)),
            },
        };
        let report = self.idle(moment, &pruner.name, StageRole::Pruner, outcome);
        Report { tokens_before, fold, ..report }
    }

    /// A proposal without what it would do to what is pinned.
    fn unpinned(&self, proposal: Pruning) -> Pruning {
        match proposal {
            Pruning::Edits { edits, mut prunable, reason }
                if !self.pinned.is_empty() || !self.pins.is_empty() =>
            {
                let (kept, edits): (Vec<Edit>, Vec<Edit>) =
                    edits.into_iter().partition(|edit| self.takes_pin(edit));
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

    /// Whether an edit would take something that is pinned out of the view.
    fn takes_pin(&self, edit: &Edit) -> bool {
        let PartPos { item, part } = edit.at;
        let says = |text: &str| {
            let part = self.history.get(item).and_then(|message| message.parts.get(part));
            part.is_some_and(|part| part.shown().contains(text))
        };
        let mut pins = self.pins.iter().filter(|pin| pin.pos == item);
        self.pinned.contains(&item)
            || pins.any(|pin| says(&pin.text) && !edit.text.contains(&*pin.text))
    }

    /// What the policy says at a moment, and whether a pruner of the same moment has just changed the view.
    #[doc(hidden)]
    pub fn decide(
        &self,
        policy: &Bound<dyn OverflowPolicy>,
        moment: Moment,
        pruned: bool,
    ) -> Decision {
        let units = self.units.map(|id| self.meter(id));
        let context = self.context(moment, policy.meter);
        policy.stage.decide(&Pressure {
            // The size of a frame may be known from usage: in tokens, whatever the unit is.
            units: units.map_or(0, |meter| meter.view_tokens() + meter.estimator().per_request()),
            pruned,
            ..context.pressure()
        })
    }
}

/// Why and how a fold is asked for.
#[derive(Clone, Copy)]
struct FoldRequest<'a> {
    moment: Moment,
    trigger: Trigger,
    decision: Option<&'a Decision>,
    /// Tokens that the prunings which prepare it took off the view.
    cleared: u64,
    instructions: &'a [String],
}

// One fold.
impl Conversation {
    /// What hooks say, prunings that prepare it, the plan, and the commit. Gives the boundary where it
    /// was committed.
    async fn fold(
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
                let conversation = &mut *prepared.conversation;
                conversation.prepare(reports);
                tokens_before = conversation.meters[0].view_tokens();
                let asked = FoldRequest {
                    moment,
                    trigger,
                    decision: decision.as_ref(),
                    cleared: tokens.saturating_sub(tokens_before),
                    instructions: &instructions,
                };
                let ended = conversation.attempt(filter, asked).await;
                prepared.committed = ended.is_ok() || !prepared.conversation.strategy.guards.atomic;
                if !prepared.committed {
                    reports[first..].iter_mut().for_each(Report::take_back);
                    tokens_before = tokens;
                }
                ended
            }
        };
        let (outcome, fold) = match ended {
            Ok((outcome, fold)) => {
                let made = self.folds.last().filter(|made| made.id == fold);
                tokens_before = made.map_or(tokens_before, |made| made.plan.tokens_before);
                (outcome, Some(fold))
            }
            Err(outcome) => (outcome, None),
        };
        if let Outcome::Failed(_) = outcome {
            self.counters.failures += 1;
        }
        // Only now it is known what became of the prunings.
        for report in &reports[first..] {
            self.emit_outcome(report);
        }
        let boundary = fold.and_then(|_| self.announce(trigger));
        let report = Report {
            tokens_before,
            fold,
            ..self.idle(moment, &filter.name, StageRole::Fold, outcome)
        };
        self.emit_outcome(&report);
        reports.push(report.with(decision, signals));
        boundary
    }

    /// Asks the hooks: the instructions for the summary, a person's first, or why a hook wants the view
    /// left as it is.
    async fn instructions(
        &self,
        moment: Moment,
        trigger: Trigger,
        tokens: u64,
        signals: &Signals,
    ) -> Result<Vec<String>, Why> {
        let context = BeforeCompaction { moment, trigger, tokens };
        // Every hook is called; of their instructions the first that is not empty counts.
        let (mut from_hooks, mut veto) = (None, None);
        for hook in &self.services.hooks {
            let said = self.say_later("a hook", hook.before(&context)).await;
            match said.unwrap_or_else(|why| Err(why.to_string())) {
                Ok(Verdict::Instruct(text)) if !text.trim().is_empty() => {
                    from_hooks.get_or_insert(text);
                }
                Ok(Verdict::Veto(why)) if trigger == Trigger::Auto => {
                    veto.get_or_insert(why);
                }
                Ok(_) => {}
                Err(error) => self.services.emit(&Event::HookFailed { error }),
            }
        }
        match veto {
            Some(why) => Err(Why::new("vetoed", format!("a hook vetoed it: {why}"))),
            None => Ok(signals.instructions.iter().cloned().chain(from_hooks).collect()),
        }
    }

    fn prepare(&mut self, reports: &mut Vec<Report>) {
        let strategy = Arc::clone(&self.strategy);
        let moment = Moment::BeforeSummary;
        for pruner in strategy.pruners.iter().filter(|p| p.when.contains(&moment)) {
            reports.push(self.prune(pruner, moment));
        }
    }

    /// The plan, and its commit.
    async fn attempt(
        &mut self,
        filter: &Bound<dyn Filter>,
        asked: FoldRequest<'_>,
    ) -> Result<(Outcome, FoldId), Outcome> {
        let trigger = asked.trigger;
        let planned = self.say_later(&filter.name, self.plan_fold(filter, asked)).await;
        let planned = planned.unwrap_or_else(|why| Err((Outcome::Failed(why), false)));
        let (ended, summarised) = match planned {
            Err((outcome, summarised)) => (Err(outcome), summarised),
            Ok(mut plan) => {
                // What prepared it is undone with it, so it is part of it: a summary may need more room than the clearings left.
                if self.strategy.guards.atomic && plan.tokens_after >= plan.tokens_before {
                    plan.tokens_before += asked.cleared;
                }
                let summarised = !plan.summaries.is_empty();
                let outcome = plan.degraded.clone().map_or(Outcome::Changed, Outcome::Degraded);
                let fold = self.check_and_commit(plan).map_err(Outcome::Failed);
                (fold.map(|fold| (outcome, fold)), summarised)
            }
        };
        match &ended {
            Ok(_) if summarised => self.refused = None,
            Err(outcome) if summarised && trigger == Trigger::Auto => {
                self.refused = outcome.why().cloned();
            }
            _ => {}
        }
        ended
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

    /// Tells hooks of a fold, once everything about it is recorded.
    async fn after_fold(&self, boundary: Option<&Event>) {
        if let Some(event) = boundary {
            for hook in &self.services.hooks {
                if let Err(why) = self.say_later("a hook", hook.after(event)).await {
                    self.services.emit(&Event::HookFailed { error: why.to_string() });
                }
            }
        }
    }
}

// From a decision to fold to a plan: the filter's proposal, the summaries that it needs, its
// arrangement.
impl Conversation {
    /// The plan, or what became of it and whether its summaries were written by then.
    async fn plan_fold(
        &self,
        filter: &Bound<dyn Filter>,
        asked: FoldRequest<'_>,
    ) -> Result<Plan, (Outcome, bool)> {
        let FoldRequest { moment, trigger, decision, cleared, instructions } = asked;
        let (context, estimator) = (self.limits.context, self.strategy.estimator());
        carry::check_pinned(&self.history, &self.pinned, &self.pins, context, estimator)
            .map_err(|why| (Outcome::Unchanged(why), false))?;
        let context = StageContext {
            trigger,
            decision,
            cleared,
            instructions,
            ..self.context(moment, filter.meter)
        };
        let proposal =
            filter.stage.propose(&context).map_err(|why| (Outcome::Unchanged(why), false))?;
        let (mut requests, proposed, then): (_, _, Continuation<'_>) = match proposal {
            Proposal::Layout(ready) => (Vec::new(), Vec::new(), Box::new(|_| Ok(ready))),
            Proposal::Then { requests, reasons, then } => (requests, reasons, then),
        };
        for request in &mut requests {
            // What was carried over stays in the view. In a summary it would be said twice.
            request.messages.retain(|message| !message.is_entry_of(EntryKind::Carried));
        }
        let mut summaries = Vec::with_capacity(requests.len());
        let mut degraded = None;
        for request in &requests {
            let summarized = self.summarize(filter, request).await;
            let (summary, why) = summarized.map_err(|why| (Outcome::Failed(why), false))?;
            // That something else wrote a summary says more than that the model kept to no form.
            if degraded.as_ref().is_none_or(|so_far: &Why| so_far.code == SUMMARY_FORM) {
                degraded = why.or(degraded);
            }
            summaries.push(summary);
        }
        let written = || summaries.iter().flatten();
        let usages = written().filter_map(|summary: &Summary| summary.usage);
        let summary_tokens: u64 =
            usages.fold(0, |sum, usage| sum.saturating_add(usage.total_tokens()));
        let mut arrangement = then(&summaries)
            // What was paid for and not taken is no idle run: paying again has to end some time.
            .map_err(|why| match summary_tokens {
                0 => (Outcome::Unchanged(why), written().next().is_some()),
                _ => (Outcome::Failed(why), true),
            })?;
        let guards = self.strategy.guards;
        // Behind a call whose result is still to come nothing may be said.
        if guards.continuation && self.has_finished()
            || guards.pairs && !self.history.open_calls().is_empty()
        {
            self.drop_continue(&mut arrangement);
        }
        let Arrangement { entries, mut layout, mut edits, reasons, tables } = arrangement;
        edits.retain(|edit| !self.takes_pin(edit));
        let folding = carry::Folding {
            history: &self.history,
            view: &self.view,
            layout: &layout,
            entries: &entries,
            pinned: &self.pinned,
            pins: &self.pins,
        };
        let images = match folding.lost_images() {
            0 => None,
            1 => Some("it leaves out an image of the user's".to_owned()),
            images => Some(format!("it leaves out {images} images of the user's")),
        };
        let carried = self.strategy.carry.text(&folding, estimator);
        let id = || self.services.ids.next("carried");
        let carried = carried.map(|text| Insert::new(id(), Role::User, text, EntryKind::Carried));
        carry::place(&mut layout, carried);
        let decided = decision.map(|decision| decision.reason.clone());
        Ok(self.counted(Plan {
            reasons: decided.into_iter().chain(proposed).chain(reasons).chain(images).collect(),
            decision: decision.cloned(),
            edits,
            entries,
            layout: Some(layout),
            summaries: written().map(|summary| summary.by.clone()).collect(),
            summary_tokens,
            tables,
            degraded,
            ..self.draft(&filter.name, moment, trigger)
        }))
    }

    /// Leaves out the prompt to go on where the model had finished or waits for results. The prompt is always the last entry.
    fn drop_continue(&self, arrangement: &mut Arrangement) {
        let last = arrangement.entries.last();
        if last.is_some_and(|entry| entry.is_entry_of(EntryKind::Continue)) {
            arrangement.entries.pop();
            let end = self.history.len() + arrangement.entries.len();
            let layout = &mut arrangement.layout;
            layout.tail_from = layout.tail_from.min(end);
            for slot in &mut layout.slots {
                if let Slot::Keep(range) = slot {
                    range.end = range.end.min(end);
                    range.start = range.start.min(range.end);
                }
            }
            layout.slots.retain(|slot| !matches!(slot, Slot::Keep(range) if range.is_empty()));
        }
    }

    /// A summary, or what the strategy does without one; and why it is not what was meant.
    async fn summarize(
        &self,
        filter: &Bound<dyn Filter>,
        request: &SummaryRequest,
    ) -> Result<(Option<Summary>, Option<Why>), Why> {
        if request.ready.is_some() {
            return Ok((request.ready.clone(), None));
        }
        self.services.observers.iter().for_each(|observer| observer.asks(request));
        let asked = match &self.strategy.summarizer {
            Some(own) => {
                let summarizer = filter.stage.summarizer(self.checked(own));
                summarizer.summarize(request, &self.services).await
            }
            None => Err(SummaryError::Unavailable("the strategy has no summarizer".to_owned())),
        };
        let error = match asked {
            Ok(summary) => {
                let lacks = || {
                    let lacks = summary.lacks.as_ref()?;
                    Some(Why::new(SUMMARY_FORM, format!("{}: {lacks}", request.name)))
                };
                let why = self.stand_in(request, &summary).or_else(lacks);
                return Ok((Some(summary), why));
            }
            Err(SummaryError::Provider(error)) if error.kind == ErrorKind::DryRun => {
                // Whoever wrote it: a dry run goes on as if there were a summary, to see what is asked next.
                if let Some(summary) = self.dry_summary(request).await {
                    let why = self.stand_in(request, &summary);
                    return Ok((Some(summary), why));
                }
                SummaryError::Provider(error)
            }
            Err(error) => error,
        };
        let why =
            |what: &str| Why::new("summary-failed", format!("{}: {error}; {what}", request.name));
        match (self.strategy.on_failure, &self.strategy.fallback) {
            (OnFailure::Keep, _) => Err(why("nothing was changed")),
            (OnFailure::Hide, _) => {
                Ok((None, Some(why("its messages are hidden without a summary"))))
            }
            (OnFailure::Extractive, None) => Err(why("no extractive summarizer is registered")),
            (OnFailure::Extractive, Some(fallback)) => {
                match self.checked(fallback).summarize(request, &self.services).await {
                    Ok(summary) => {
                        Ok((Some(summary), Some(why("the extractive summarizer stood in"))))
                    }
                    Err(second) => Err(why(&format!("the extractive summarizer: {second}"))),
                }
            }
        }
    }

    /// What stands in for a summary that a dry run did not ask for.
    async fn dry_summary(&self, request: &SummaryRequest) -> Option<Summary> {
        let fallback = self.checked(self.strategy.fallback.as_ref()?);
        let summary = fallback.summarize(request, &self.services).await.ok()?;
        Some(Summary { by: DRY_RUN.to_owned(), ..summary })
    }

    fn checked(&self, summarizer: &Arc<dyn Summarizer>) -> Arc<dyn Summarizer> {
        let summarizer = Arc::clone(summarizer);
        if self.strategy.guards.summary { Arc::new(Checked(summarizer)) } else { summarizer }
    }

    /// Says so where something else wrote the summary than was to write it: a summarizer without a
    /// model, in place of one with a model that could not take the request.
    fn stand_in(&self, request: &SummaryRequest, summary: &Summary) -> Option<Why> {
        let meant = self.strategy.summarizer.as_ref()?.id();
        (summary.by != meant).then(|| {
            Why::new("stand-in", format!("{}: {} stood in for {meant}", request.name, summary.by))
        })
    }
}

// The plan: counted before and after, on the current state.
impl Conversation {
    /// A plan of the current state that changes nothing yet, to be filled by hand and [committed](Self::commit).
    #[doc(hidden)]
    pub fn draft(&self, stage: &str, moment: Moment, trigger: Trigger) -> Plan {
        Plan {
            base: self.revision,
            moment,
            trigger,
            stage: stage.to_owned(),
            estimator: Arc::clone(self.strategy.estimator().id()),
            tokens_before: 0,
            tokens_after: 0,
            prunable: 0,
            reclaimed: 0,
            reasons: Vec::new(),
            decision: None,
            edits: Vec::new(),
            entries: Vec::new(),
            layout: None,
            summaries: Vec::new(),
            summary_tokens: 0,
            tables: BTreeMap::new(),
            degraded: None,
        }
    }

    /// The plan with its counts, before and after, under the strategy's own estimator.
    fn counted(&self, mut plan: Plan) -> Plan {
        let meter = &self.meters[0];
        self.count_edits(&mut plan.edits);
        let (mut removed, mut added) = (0, 0);
        for edit in plan.edits.iter().filter(|edit| self.view.is_visible(edit.at.item)) {
            removed += edit.before;
            added += edit.after;
            plan.reclaimed += edit.before.saturating_sub(edit.after);
        }
        plan.tokens_before = meter.view_tokens();
        plan.tokens_after = match &plan.layout {
            None => {
                let entered: u64 = plan.entries.iter().map(|entry| meter.measure(entry)).sum();
                plan.tokens_before - removed + added + entered
            }
            Some(layout) => self.tokens_under(layout, &plan),
        };
        plan
    }

    /// Sets the counts of edits, which a stage may have made under an estimator of its own, to those of
    /// the strategy's.
    pub(super) fn count_edits(&self, edits: &mut [Edit]) {
        let meter = &self.meters[0];
        let mut last = LastText::default();
        for Edit { at, text, before, after, .. } in edits {
            *before = meter.part_shown(*at);
            *after = meter.part_with(&self.history, *at, text, &mut last);
        }
    }

    /// Tokens of the view that a layout would make, with the plan's entries after the history and its
    /// edits over it.
    fn tokens_under(&self, layout: &Layout, plan: &Plan) -> u64 {
        let meter = &self.meters[0];
        let end = self.history.len() + plan.entries.len();
        let shown = |pos: Pos| match pos.checked_sub(self.history.len()) {
            Some(entry) => meter.measure(&plan.entries[entry]),
            None => meter.shown(Place::Item(pos)),
        };
        let kept: Vec<_> = layout.kept(end).map(|range| range.start..range.end.min(end)).collect();
        let inserts = layout.slots.iter().filter_map(|slot| match slot {
            Slot::Insert(insert) => Some(meter.measure(insert.message())),
            Slot::Keep(_) => None,
        });
        let mut total = inserts.sum::<u64>();
        let stands = |pos: &Pos| !self.history.is_withdrawn(*pos);
        total += kept.iter().cloned().flatten().filter(stands).map(shown).sum::<u64>();
        for edit in plan.edits.iter().filter(|edit| stands(&edit.at.item)) {
            // A message may be in the view more than once.
            let places = kept.iter().filter(|range| range.contains(&edit.at.item)).count() as u64;
            total = total + places * edit.after - places * edit.before;
        }
        total
    }
}
