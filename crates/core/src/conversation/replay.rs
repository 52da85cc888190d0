//! Restores a conversation to an earlier state: folds that were committed before are applied
//! again, with their numbers and times. Observers are not notified, since nothing new happens.

use super::{Conversation, FoldId};
use crate::carry::Pins;
use crate::log::Message;
use crate::plan::{Plan, Slot};
use crate::view::Pos;
use std::sync::Arc;
use thiserror::Error;

/// Why something that was written down can't have happened in this conversation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[doc(hidden)]
pub enum ReplayError {
    /// The fold names a message or a part that is not there.
    #[error("fold {fold} refers to {what}, but the history has {messages} messages")]
    OutOfRange {
        /// The fold.
        fold: FoldId,
        /// What is not there.
        what: String,
        /// Length of the history.
        messages: usize,
    },
    /// Numbers of folds only grow.
    #[error("fold {fold} comes after fold {last}")]
    Order {
        /// The fold.
        fold: FoldId,
        /// The last number that was given out.
        last: FoldId,
    },
    /// Only the last fold can be taken back.
    #[error("fold {fold} is undone, but the last fold in force is {}", .last.map_or("none".to_owned(), |last| last.to_string()))]
    NotLast {
        /// The fold.
        fold: FoldId,
        /// The last one in force.
        last: Option<FoldId>,
    },
}

impl Conversation {
    /// Commits a fold again that was committed to the same history before.
    ///
    /// # Errors
    ///
    /// Where the plan does not fit the history; nothing was changed then.
    #[doc(hidden)]
    pub fn replay(&mut self, id: FoldId, at: i64, plan: Plan) -> Result<(), ReplayError> {
        if id < self.next_fold {
            let last = self.next_fold - 1;
            return Err(ReplayError::Order { fold: id, last });
        }
        if let Some(what) = self.missing(&plan) {
            let messages = self.history.len();
            return Err(ReplayError::OutOfRange { fold: id, what, messages });
        }
        self.take_ids(&plan);
        self.next_fold = id;
        self.silently(|conversation| conversation.apply_and_record(plan, at));
        Ok(())
    }

    /// Pins these texts again, and no others.
    #[doc(hidden)]
    pub fn replay_pins(&mut self, pins: Pins) {
        self.pins = pins;
        self.revision += 1;
    }

    /// Takes a fold back again.
    ///
    /// # Errors
    ///
    /// Where it is not the last one in force; nothing was changed then.
    #[doc(hidden)]
    pub fn replay_undo(&mut self, id: FoldId) -> Result<(), ReplayError> {
        let last = self.folds.last().map(|fold| fold.id);
        if last != Some(id) {
            return Err(ReplayError::NotLast { fold: id, last });
        }
        self.silently(Self::undo);
        Ok(())
    }

    /// Appends a message whose fold was undone: it keeps its position and is never shown.
    #[doc(hidden)]
    pub fn replay_withdrawn(&mut self, message: impl Into<Arc<Message>>) -> Pos {
        let message = message.into();
        self.services.ids.taken(&message.id);
        let pos = self.append(message);
        self.history.withdraw(pos);
        self.lay_out(None);
        pos
    }

    /// Tells the source of ids which ones a plan that was read back has used.
    fn take_ids(&self, plan: &Plan) {
        for entry in &plan.entries {
            self.services.ids.taken(&entry.id);
        }
        for slot in plan.layout.iter().flat_map(|layout| &layout.slots) {
            if let Slot::Insert(insert) = slot {
                self.services.ids.taken(insert.id());
            }
        }
    }

    fn silently<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let observers = std::mem::take(&mut self.services.observers);
        let done = act(self);
        self.services.observers = observers;
        done
    }

    /// What a plan speaks of that is not in the history.
    fn missing(&self, plan: &Plan) -> Option<String> {
        let parts =
            |pos: Pos| (pos < self.history.len()).then(|| self.history.message(pos).parts.len());
        let edit = plan
            .edits
            .iter()
            .find(|edit| parts(edit.at.item).is_none_or(|parts| edit.at.part >= parts));
        if let Some(edit) = edit {
            return Some(format!("part {} of message {}", edit.at.part, edit.at.item));
        }
        let layout = plan.layout.as_ref()?;
        let end = self.history.len() + plan.entries.len();
        let kept = layout.kept(end).map(|range| range.end);
        let last = kept.chain([layout.tail_from]).max()?;
        (last > end).then(|| format!("message {}", last - 1))
    }
}
