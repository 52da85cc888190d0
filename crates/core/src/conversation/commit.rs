//! From a plan to the view: the guards check it, it is applied and counted, and it can be
//! undone.

use super::Conversation;
use crate::counters::Counters;
use crate::event::{Event, StartSource};
use crate::fold_stats::FoldStats;
use crate::layout::Layout;
use crate::log::Origin;
use crate::meter::LastText;
use crate::moment::Trigger;
use crate::outcome::Why;
use crate::plan::{Edit, FoldId, Plan};
use crate::position::{PartPos, Pos};
use crate::view::PartEdit;
use std::sync::Arc;
use thiserror::Error;

/// A committed plan, with what is needed to take it back.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Its number.
    pub id: FoldId,
    /// When it was committed, by the injected clock, in milliseconds since the Unix epoch.
    pub at: i64,
    /// What was committed.
    pub plan: Arc<Plan>,
    before_edits: Vec<(PartPos, Option<PartEdit>)>,
    before_layout: Option<Layout>,
    entries: Vec<Pos>,
    history_len: usize,
}

impl Fold {
    /// Length of the history when it was committed, its own messages not counted: what came later is
    /// at this position or after it.
    #[doc(hidden)]
    pub fn history_len(&self) -> usize {
        self.history_len
    }

    /// Positions of the plan's messages in the history, ascending.
    #[doc(hidden)]
    pub fn entries(&self) -> &[Pos] {
        &self.entries
    }

    /// The layout in force before the fold. `None` if the fold moved nothing.
    pub(crate) fn layout_before(&self) -> Option<&Layout> {
        self.before_layout.as_ref()
    }
}

/// Why a plan was not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[doc(hidden)]
pub enum CommitError {
    /// The conversation has moved on since the plan was made.
    #[error("the plan was made on revision {plan}, the conversation is at {now}; plan again")]
    Stale {
        /// Revision of the plan.
        plan: u64,
        /// Revision of the conversation.
        now: u64,
    },
}

impl Conversation {
    pub(super) fn check_and_commit(&mut self, plan: Plan) -> Result<FoldId, Why> {
        self.strategy.guards.check(&self.history, &plan)?;
        let now = self.services.clock.now();
        Ok(self.apply_and_record(plan, now))
    }

    /// Commits a plan. Only a plan made on the current state is taken; its edits are counted again,
    /// whoever made it.
    ///
    /// # Errors
    ///
    /// The plan was made on another state.
    #[doc(hidden)]
    pub fn commit(&mut self, mut plan: Plan) -> Result<FoldId, CommitError> {
        if plan.base != self.revision {
            return Err(CommitError::Stale { plan: plan.base, now: self.revision });
        }
        self.count_edits(&mut plan.edits);
        let now = self.services.clock.now();
        Ok(self.apply_at(Arc::new(plan), now))
    }

    /// Puts a plan in force and counts it among what was done: a pruning, or a fold with what it brings.
    pub(super) fn apply_and_record(&mut self, plan: Plan, now: i64) -> FoldId {
        let plan = Arc::new(plan);
        let fold = self.apply_at(Arc::clone(&plan), now);
        self.record(fold, &plan);
        fold
    }

    fn record(&mut self, fold: FoldId, plan: &Plan) {
        let counters = &mut self.counters;
        counters.tokens_before_total += plan.tokens_before;
        if plan.layout.is_none() {
            counters.prune_operations += 1;
            counters.tokens_pruned += plan.prunable;
            counters.tokens_reclaimed += plan.reclaimed;
            return;
        }
        counters.folds += 1;
        self.answered_views.clear();
        counters.summaries += plan.summaries.len() as u64;
        self.stats_in_force.push(self.fold_stats.len());
        self.fold_stats.push(FoldStats {
            fold,
            tokens_before: plan.tokens_before,
            tokens_after: plan.tokens_after,
            summary_tokens: plan.summary_tokens,
            ..FoldStats::default()
        });
        if plan.trigger == Trigger::Auto {
            self.mark_folded();
        }
    }

    /// Puts a plan in force that was made and counted on the current state; `now` is another time where a
    /// fold is read back.
    fn apply_at(&mut self, plan: Arc<Plan>, now: i64) -> FoldId {
        let (own, others) = self.meters.split_at_mut(1);
        for edit in &plan.edits {
            own[0].set_part(&self.view, edit.at, Some(edit.kind), edit.after);
        }
        for meter in others {
            let mut last = LastText::default();
            for Edit { at, kind, text, .. } in &plan.edits {
                meter.edit(&self.history, &self.view, *at, Some((*kind, text)), &mut last);
            }
        }
        let put = |edit: &Edit| {
            let next = PartEdit { kind: edit.kind, text: Arc::clone(&edit.text), at: now };
            (edit.at, self.view.set_edit(edit.at, Some(next)))
        };
        let before_edits = plan.edits.iter().map(put).collect();
        let history_len = self.history.len();
        let entries: Vec<Pos> =
            plan.entries.iter().map(|entry| self.append(entry.clone())).collect();
        let before_layout = plan.layout.clone().map(|layout| {
            self.usage = None;
            self.lay_out(Some(layout))
        });
        for entry in &plan.entries {
            if let Origin::Entry(kind) = entry.origin {
                self.emit_entry(kind, &entry.id);
            }
        }
        let id = self.next_fold;
        self.next_fold += 1;
        self.revision += 1;
        self.folds.push(Fold {
            id,
            at: now,
            plan,
            before_edits,
            before_layout,
            entries,
            history_len,
        });
        id
    }

    /// Puts a layout in force, or the same one again over what was withdrawn since, and counts what is shown. Gives the layout
    /// before.
    pub(super) fn lay_out(&mut self, layout: Option<Layout>) -> Layout {
        let layout = layout.unwrap_or_else(|| self.view.layout().clone());
        let before = self.view.set_layout(&self.history, layout);
        for meter in &mut self.meters {
            meter.relayout(&self.view);
        }
        before
    }

    /// Takes the last fold back and returns its number. Messages that were appended since stay.
    pub fn undo(&mut self) -> Option<FoldId> {
        let id = self.undo_last()?;
        self.services.emit(&Event::SessionStart { source: StartSource::Undo });
        Some(id)
    }

    /// Takes folds back until this one is, the newest first; what was folded on top of it can't stand
    /// without it. Empty where there is no such fold.
    #[doc(hidden)]
    pub fn undo_to(&mut self, fold: FoldId) -> Vec<FoldId> {
        if !self.folds.iter().any(|other| other.id == fold) {
            return Vec::new();
        }
        let mut undone = Vec::new();
        while undone.last() != Some(&fold) {
            match self.undo() {
                Some(id) => undone.push(id),
                None => break,
            }
        }
        undone
    }

    pub(super) fn undo_last(&mut self) -> Option<FoldId> {
        let fold = self.folds.pop()?;
        if self.newest_stats().is_some_and(|newest| newest.fold == fold.id) {
            self.stats_in_force.pop();
        }
        for pos in &fold.entries {
            self.history.withdraw(*pos);
            self.pinned.remove(pos);
        }
        for (at, edit) in fold.before_edits.into_iter().rev() {
            for meter in &mut self.meters {
                let edit = edit.as_ref().map(|edit| (edit.kind, &*edit.text));
                meter.edit(&self.history, &self.view, at, edit, &mut LastText::default());
            }
            self.view.set_edit(at, edit);
        }
        self.lay_out(fold.before_layout);
        self.reunite(fold.history_len);
        self.revision += 1;
        Some(fold.id)
    }
}

/// A conversation whose tool results were cleared for a summary that is not there yet. Unless the
/// fold commits, the clearings are taken back: when it fails, and when the future is dropped while a
/// model is asked.
pub(super) struct Prepared<'c> {
    pub(super) conversation: &'c mut Conversation,
    folds: usize,
    counters: Counters,
    pub(super) committed: bool,
}

impl<'c> Prepared<'c> {
    pub(super) fn new(conversation: &'c mut Conversation) -> Self {
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
