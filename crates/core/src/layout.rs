//! The order of messages in a view.

use crate::history::History;
use crate::log::{EntryKind, Message, Origin, Part, Role};
use crate::position::Pos;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A message that is in the view but not in the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insert {
    /// Id of the message.
    pub id: String,
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub text: String,
    /// Which kind of entry it is.
    pub origin: EntryKind,
}

impl Insert {
    /// The message that is shown.
    pub fn to_message(&self) -> Message {
        Message {
            origin: Origin::Entry(self.origin),
            ..Message::new(self.id.clone(), self.role, vec![Part::synthetic(self.text.clone())])
        }
    }
}

/// One slot of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// These messages of the history, in stored order (half-open range of positions).
    Keep(Range<Pos>),
    /// This message, which is not in the history.
    Insert(Insert),
}

/// The order of the view: the slots in order, then everything in the history from `tail_from` on,
/// whatever is appended later included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// What comes before the tail.
    pub slots: Vec<Slot>,
    /// Where the tail starts.
    pub tail_from: Pos,
}

impl Layout {
    /// The layout from a list of positions: runs of neighbors become ranges. `tail_from` must be
    /// above all of them.
    pub fn of_positions(positions: impl IntoIterator<Item = Pos>, tail_from: Pos) -> Self {
        let mut slots = Vec::new();
        for pos in positions {
            push_kept(&mut slots, pos);
        }
        Self { slots, tail_from }
    }

    /// By position, whether the layout shows the message.
    pub fn visible(&self, history: &History) -> Vec<bool> {
        let mut visible = vec![false; history.len()];
        let kept = self.slots.iter().filter_map(|slot| match slot {
            Slot::Keep(range) => Some(range.clone()),
            Slot::Insert(_) => None,
        });
        for range in kept.chain(std::iter::once(self.tail_from..history.len())) {
            for (pos, _) in history.range(range) {
                visible[pos] = true;
            }
        }
        visible
    }
}

/// Appends a kept position to slots, joining it to the range before where it follows it.
pub fn push_kept(slots: &mut Vec<Slot>, pos: Pos) {
    match slots.last_mut() {
        Some(Slot::Keep(range)) if range.end == pos => range.end += 1,
        _ => slots.push(Slot::Keep(pos..pos + 1)),
    }
}
