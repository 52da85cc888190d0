//! From a decision to fold to the changes of a plan: instructions, the filter's proposal, the summaries
//! that it needs, its arrangement.

use super::Conversation;
use super::driver::Signals;
use super::planning::Changes;
use crate::carry;
use crate::event::Event;
use crate::log::{EntryKind, Role};
use crate::moment::{Moment, Trigger};
use crate::outcome::Why;
use crate::plan::{Insert, Slot};
use crate::services::{BeforeCompaction, Verdict};
use crate::stage::{
    Arrangement, Checked, Decision, Filter, Scene, Summarizer, Summary, SummaryError,
    SummaryRequest,
};
use crate::strategy::{Bound, OnFailure};
use std::sync::Arc;

/// Why a fold ended without a plan.
pub(super) enum Stop {
    Nothing(Why),
    Failed(Why),
}

impl Conversation {
    /// Asks the hooks: the instructions for the summary, a person's first, or why a hook wants the view
    /// left as it is.
    pub(super) async fn instructions(
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
            match hook.before(&context).await {
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
            Some(why) => Err(Why::new("vetoed", format!("a hook said no: {why}"))),
            None => Ok(signals.instructions.iter().cloned().chain(from_hooks).collect()),
        }
    }

    pub(super) async fn arrange(
        &self,
        filter: &Bound<dyn Filter>,
        moment: Moment,
        trigger: Trigger,
        decision: Option<&Decision>,
        instructions: &[String],
    ) -> Result<Changes, Stop> {
        let scene =
            Scene { trigger, decision, instructions, ..self.scene(moment, filter.estimator) };
        let mut proposal = filter.stage.propose(&scene).map_err(Stop::Nothing)?;
        for request in &mut proposal.requests {
            // It stays as it is; a summary of it would be said twice.
            request.messages.retain(|message| !message.is_entry_of(EntryKind::Carried));
        }
        let mut summaries = Vec::with_capacity(proposal.requests.len());
        let mut degraded = None;
        for request in &proposal.requests {
            let (summary, why) = self.summarize(filter, request).await?;
            degraded = degraded.or(why);
            summaries.push(summary);
        }
        let by = summaries.iter().flatten().map(|summary: &Summary| summary.by.clone()).collect();
        let usages = summaries.iter().flatten().filter_map(|summary| summary.usage);
        let summary_tokens: u64 =
            usages.map(|usage| usage.input_total() + usage.output + usage.reasoning).sum();
        let mut arrangement = filter
            .stage
            .arrange(&scene, &proposal, &summaries)
            // What was paid for and not taken is no idle run: paying again has to end some time.
            .map_err(|why| match summary_tokens {
                0 => Stop::Nothing(why),
                _ => Stop::Failed(why),
            })?;
        if self.strategy.guards.continuation && self.has_finished() {
            self.drop_continue(&mut arrangement);
        }
        let Arrangement { entries, mut layout, mut edits, reasons, tables } = arrangement;
        edits.retain(|edit| !self.pinned.contains(&edit.at.item));
        let carried = self.strategy.carry.text(
            &self.history,
            &self.view,
            &layout,
            &self.pinned,
            self.strategy.estimator(),
        );
        let carried = carried.map(|text| Insert {
            id: self.services.ids.next("carried"),
            role: Role::User,
            text,
            origin: EntryKind::Carried,
        });
        carry::place(&mut layout, carried);
        let reasons = decision
            .map(|decision| decision.reason.clone())
            .into_iter()
            .chain(proposal.reasons.iter().cloned())
            .chain(reasons)
            .collect();
        Ok(Changes {
            edits,
            entries,
            layout: Some(layout),
            reasons,
            tables,
            summaries: by,
            summary_tokens,
            degraded,
        })
    }

    /// Leaves out the message that would tell a model to go on that had finished. It is the last entry:
    /// what it continues stands before it.
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

    /// A summary, or what the strategy does without one.
    async fn summarize(
        &self,
        filter: &Bound<dyn Filter>,
        request: &SummaryRequest,
    ) -> Result<(Option<Summary>, Option<Why>), Stop> {
        if request.ready.is_some() {
            return Ok((request.ready.clone(), None));
        }
        let asked = match &self.strategy.summarizer {
            Some(own) => {
                let summarizer = filter.stage.summarizer(self.checked(own));
                summarizer.summarize(request, &self.services).await
            }
            None => Err(SummaryError::Unavailable("the strategy has no summarizer".to_owned())),
        };
        let error = match asked {
            Ok(summary) => {
                let stand_in = self.stand_in(request, &summary);
                return Ok((Some(summary), stand_in));
            }
            Err(error) => error,
        };
        let why =
            |what: &str| Why::new("summary-failed", format!("{}: {error}; {what}", request.name));
        match self.strategy.on_failure {
            OnFailure::Keep => Err(Stop::Failed(why("nothing was changed"))),
            OnFailure::Hide => {
                Ok((None, Some(why("what it stood for is hidden without a summary"))))
            }
            OnFailure::Extractive => {
                let Some(fallback) = &self.strategy.fallback else {
                    return Err(Stop::Failed(why("no extractive summarizer is registered")));
                };
                match self.checked(fallback).summarize(request, &self.services).await {
                    Ok(summary) => {
                        Ok((Some(summary), Some(why("the extractive summarizer stood in"))))
                    }
                    Err(second) => Err(Stop::Failed(Why::new(
                        "summary-failed",
                        format!("{}: {error}; the extractive summarizer: {second}", request.name),
                    ))),
                }
            }
        }
    }

    /// Says so where something else wrote the summary than was to write it: a summarizer without a
    /// model, in place of one with a model that could not take the request.
    fn stand_in(&self, request: &SummaryRequest, summary: &Summary) -> Option<Why> {
        let meant = self.strategy.summarizer.as_ref()?.id();
        (summary.by != meant).then(|| {
            Why::new("stand-in", format!("{}: {} stood in for {meant}", request.name, summary.by))
        })
    }

    fn checked(&self, summarizer: &Arc<dyn Summarizer>) -> Arc<dyn Summarizer> {
        let summarizer = Arc::clone(summarizer);
        if self.strategy.guards.summary { Arc::new(Checked(summarizer)) } else { summarizer }
    }
}
