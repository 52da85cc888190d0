//! What can happen to a conversation, as it is recorded and replayed.

use foldback_core::carry::Pins;
use foldback_core::conversation::{Conversation, FoldId, ReplayError};
use foldback_core::delta::Cursor;
use foldback_core::log::Message;
use foldback_core::plan::Plan;
use foldback_core::view::{PartPos, Pos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// What happened.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Happened {
    /// A message was appended.
    Message(Arc<Message>),
    /// A message was appended by a fold that was taken back before it was written.
    Withdrawn(Arc<Message>),
    /// A loaded history had this part cleared.
    Mark { part: PartPos, text: Arc<str>, at: i64 },
    /// The folds that a loaded history lists were applied.
    Restored,
    /// A fold was committed.
    Fold { id: FoldId, at: i64, plan: Arc<Plan> },
    /// A fold was taken back.
    Undo(FoldId),
    /// A message was pinned.
    Pin(Pos),
    /// A message was unpinned.
    Unpin(Pos),
    /// These texts are pinned from here on.
    Pins(Pins),
}

/// The part of a conversation that is recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedState {
    cursor: Cursor,
    /// Folds in force.
    folds: Vec<FoldId>,
    pinned: BTreeSet<Pos>,
    pins: Pins,
}

impl RecordedState {
    /// The state of a conversation, all of it recorded.
    pub(super) fn new(conversation: &Conversation) -> Self {
        let mut known = Self::default();
        known.take(conversation);
        known
    }

    /// What happened since, and is recorded from now on. Messages and folds are in their order; undos come
    /// first, and pins last, as neither makes a difference to how the others happen again.
    pub(super) fn take(&mut self, conversation: &Conversation) -> Vec<Happened> {
        let history = conversation.history();
        let delta = conversation.delta(&mut self.cursor);
        let undone = self.folds.split_off(self.folds.len() - delta.undone);
        let mut happened: Vec<_> = undone.into_iter().rev().map(Happened::Undo).collect();
        let messages = |range: Range<Pos>| {
            range.map(|pos| {
                let message = Arc::clone(history.message(pos));
                if history.is_withdrawn(pos) {
                    Happened::Withdrawn(message)
                } else {
                    Happened::Message(message)
                }
            })
        };
        let mut pos = delta.appended.start;
        for fold in &conversation.folds()[delta.folds] {
            happened.extend(messages(pos..fold.history_len()));
            let plan = Arc::clone(&fold.plan);
            happened.push(Happened::Fold { id: fold.id, at: fold.at, plan });
            self.folds.push(fold.id);
            pos = fold.history_len() + fold.entries().len();
        }
        happened.extend(messages(pos..delta.appended.end));
        let pinned = conversation.pinned();
        let unpinned = self.pinned.difference(pinned);
        happened.extend(unpinned.copied().map(Happened::Unpin));
        happened.extend(pinned.difference(&self.pinned).copied().map(Happened::Pin));
        if self.pinned != *pinned {
            self.pinned.clone_from(pinned);
        }
        if self.pins != *conversation.pins() {
            self.pins = conversation.pins().clone();
            happened.push(Happened::Pins(self.pins.clone()));
        }
        happened
    }
}

/// Replays it.
pub(super) fn replay(conversation: &mut Conversation, what: Happened) -> Result<(), ReplayError> {
    match what {
        Happened::Message(message) => {
            conversation.append(message);
        }
        Happened::Withdrawn(message) => {
            conversation.replay_withdrawn(message);
        }
        Happened::Mark { part, text, at } => {
            let messages = conversation.history().len();
            let parts = (part.item < messages).then(|| conversation.history().message(part.item));
            if parts.is_none_or(|message| part.part >= message.parts.len()) {
                let what = format!("part {} of message {}", part.part, part.item);
                return Err(ReplayError::OutOfRange { fold: 0, what, messages });
            }
            conversation.mark_cleared(part, text, at);
        }
        Happened::Restored => conversation.restore(),
        Happened::Fold { id, at, plan } => {
            let plan = Arc::try_unwrap(plan).unwrap_or_else(|shared| (*shared).clone());
            conversation.replay(id, at, plan)?;
        }
        Happened::Undo(id) => conversation.replay_undo(id)?,
        Happened::Pin(pos) => {
            conversation.pin(pos);
        }
        Happened::Unpin(pos) => {
            conversation.unpin(pos);
        }
        Happened::Pins(pins) => conversation.replay_pins(pins),
    }
    Ok(())
}
