//! The order of messages in a view.

use crate::history::History;
use crate::log::{EntryKind, Message, Origin, Part, PartKind, Role};
use crate::position::Pos;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A message that is in the view but not in the history. Copies share the message, and with it the counts of its tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct Insert {
    message: Arc<Message>,
    origin: EntryKind,
}

/// How an insert is written.
#[derive(Serialize, Deserialize)]
struct Row {
    id: String,
    role: Role,
    text: String,
    origin: EntryKind,
}

impl Insert {
    /// A message with this id that says `text`.
    pub fn new(id: impl Into<String>, role: Role, text: String, origin: EntryKind) -> Self {
        let message = Message {
            origin: Origin::Entry(origin),
            ..Message::new(id, role, vec![Part::synthetic(text)])
        };
        Self { message: Arc::new(message), origin }
    }

    /// Id of the message.
    pub fn id(&self) -> &str {
        &self.message.id
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        self.message.role
    }

    /// The text.
    pub fn text(&self) -> &str {
        match self.message.parts.first().map(|part| &part.kind) {
            Some(PartKind::Text { text, .. }) => text,
            _ => "",
        }
    }

    /// The kind of the entry.
    pub fn origin(&self) -> EntryKind {
        self.origin
    }

    /// The message that is shown.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }
}

impl PartialEq for Insert {
    fn eq(&self, other: &Self) -> bool {
        let fields = |insert: &Self| (insert.role(), insert.origin);
        Arc::ptr_eq(&self.message, &other.message)
            || (fields(self) == fields(other) && self.id() == other.id())
                && self.text() == other.text()
    }
}

impl Eq for Insert {}

impl From<Row> for Insert {
    fn from(row: Row) -> Self {
        Self::new(row.id, row.role, row.text, row.origin)
    }
}

impl From<Insert> for Row {
    fn from(insert: Insert) -> Self {
        Self {
            id: insert.id().to_owned(),
            role: insert.role(),
            text: insert.text().to_owned(),
            origin: insert.origin,
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

    /// Shows a message that was hidden, where it stands in the history: before the first message of the log that came
    /// after it, or directly behind `call`, which was brought back before it: whatever a fold wrote in between would part
    /// them. What stands in front stays there, since not every provider takes every message as the first one.
    pub(crate) fn bring_back(
        &mut self,
        history: &History,
        pos: Pos,
        head: Option<Pos>,
        call: Option<Pos>,
    ) {
        let alone = |at: Pos| Slot::Keep(at..at + 1);
        if let Some(call) = call
            && let Some(index) = self.slots.iter().position(|slot| *slot == alone(call))
        {
            self.slots.insert(index + 1, alone(pos));
            return;
        }
        let later = |range: &Range<Pos>| {
            let mut messages = history.range(range.start.max(pos)..range.end);
            let first = messages.find(|(at, message)| !message.is_entry() && Some(*at) != head);
            first.map(|(at, _)| at)
        };
        for (index, slot) in self.slots.iter().enumerate() {
            let Slot::Keep(range) = slot else { continue };
            if let Some(at) = later(range) {
                let around = [range.start..at, pos..pos + 1, at..range.end];
                let around = around.into_iter().filter(|range| !range.is_empty());
                self.slots.splice(index..=index, around.map(Slot::Keep).collect::<Vec<_>>());
                return;
            }
        }
        let at = later(&(self.tail_from..history.len())).unwrap_or(history.len());
        let around = [self.tail_from..at, pos..pos + 1];
        self.slots.extend(around.into_iter().filter(|range| !range.is_empty()).map(Slot::Keep));
        self.tail_from = at;
    }

    /// By position, whether the layout shows the message.
    pub fn visible(&self, history: &History) -> Vec<bool> {
        let mut visible = vec![false; history.len()];
        for (pos, _) in self.kept(history.len()).flat_map(|range| history.range(range)) {
            visible[pos] = true;
        }
        visible
    }

    /// Positions that the layout shows of a history of `len` messages, in the layout's order.
    pub(crate) fn kept(&self, len: usize) -> impl Iterator<Item = Range<Pos>> {
        let slots = self.slots.iter().filter_map(|slot| match slot {
            Slot::Keep(range) => Some(range.clone()),
            Slot::Insert(_) => None,
        });
        slots.chain(std::iter::once(self.tail_from..len))
    }
}

/// Appends a kept position to slots, joining it to the range before where it follows it.
pub fn push_kept(slots: &mut Vec<Slot>, pos: Pos) {
    match slots.last_mut() {
        Some(Slot::Keep(range)) if range.end == pos => range.end += 1,
        _ => slots.push(Slot::Keep(pos..pos + 1)),
    }
}
