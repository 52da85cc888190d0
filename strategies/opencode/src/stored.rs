//! The history in OpenCode's units.
//!
//! OpenCode stores a call and its result in one part, and everything a model did for one request (in
//! older sessions for several) in one message. The log has a message per answer and one per result;
//! here they are put together again, so that a boundary never falls inside of one.

use crate::boundary::MessageMarks;
use foldback_core::Role;
use foldback_core::history::History;
use foldback_core::log::{EntryKind, Marker, Message, PartKind};
use foldback_core::stage::StageContext;
use foldback_core::view::{Place, Pos};

/// A message as OpenCode would store it: positions in the history, ascending, the first one names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// Who speaks; never a tool.
    pub role: Role,
    /// Its messages in the history.
    pub items: Vec<Pos>,
}

impl StoredMessage {
    /// The position that names it.
    pub fn first(&self) -> Pos {
        self.items.first().copied().unwrap_or(0)
    }
}

/// All stored messages, in stored order.
pub fn stored_messages(history: &History) -> Vec<StoredMessage> {
    stored_from(history, 0)
}

/// The stored messages from a position on, which must begin one.
fn stored_from(history: &History, from: Pos) -> Vec<StoredMessage> {
    let mut stored: Vec<StoredMessage> = Vec::new();
    let mut unit_of: Vec<Option<usize>> = vec![None; history.len() - from];
    for (pos, message) in history.range(from..history.len()) {
        let unit = match message.role {
            Role::Tool => {
                let first = history.group(history.group_of(pos)).items.first();
                // A result whose call is not there stays with what it followed.
                first
                    .and_then(|first| unit_of[first.checked_sub(from)?])
                    .or(stored.len().checked_sub(1))
            }
            Role::Assistant => stored
                .len()
                .checked_sub(1)
                .filter(|last| continues(history.message(stored[*last].first()), message)),
            Role::User | Role::System => None,
        };
        let unit = unit.unwrap_or_else(|| {
            let role = match message.role {
                Role::Tool => Role::Assistant,
                role => role,
            };
            stored.push(StoredMessage { role, items: Vec::new() });
            stored.len() - 1
        });
        stored[unit].items.push(pos);
        unit_of[pos - from] = Some(unit);
    }
    stored
}

/// The stored messages from the first on that the view shows, instructions of the harness aside. What
/// stands before them is after the latest checkpoint, where the view filter does not look: so a fold
/// costs the view, not the history.
pub fn in_sight(context: &StageContext<'_>) -> Vec<StoredMessage> {
    let history = context.history;
    let items = context.places().iter().filter_map(|place| place.item());
    let spoken = items.filter(|pos| history.message(*pos).role != Role::System);
    let mut from = spoken.min().unwrap_or(0);
    let begins = |pos: Pos| {
        let (before, message) = (history.message(pos - 1), history.message(pos));
        message.role != Role::Tool && (message.record.is_none() || before.record != message.record)
    };
    while from > 0 && !begins(from) {
        from -= 1;
    }
    stored_from(history, from)
}

/// The stored messages that the view shows, in its order, without instructions of the harness: those
/// are never summarized.
pub fn in_view(context: &StageContext<'_>, all: &[StoredMessage]) -> Vec<usize> {
    let from = all.first().map_or(0, StoredMessage::first);
    let mut unit_of: Vec<Option<usize>> = vec![None; context.history.len() - from];
    for (index, unit) in all.iter().enumerate() {
        for pos in unit.items.iter().filter(|_| unit.role != Role::System) {
            unit_of[*pos - from] = Some(index);
        }
    }
    let mut met = vec![false; all.len()];
    let mut units = Vec::new();
    for place in context.places() {
        let unit = match place {
            Place::Item(pos) => pos.checked_sub(from).and_then(|at| unit_of[at]),
            Place::Insert(_) => None,
        };
        if let Some(unit) = unit.filter(|unit| !std::mem::replace(&mut met[*unit], true)) {
            units.push(unit);
        }
    }
    units
}

/// Whether an answer is a further step of the stored message before it.
fn continues(first: &Message, message: &Message) -> bool {
    first.role == Role::Assistant
        && first.origin == message.origin
        && first.record.is_some()
        && first.record == message.record
}

/// What the view filter needs to know of a stored message, given its messages in order.
pub fn seen<'a>(messages: &[&'a Message]) -> MessageMarks<'a> {
    let Some(first) = messages.first() else {
        return MessageMarks::default();
    };
    let answers = || messages.iter().filter_map(|message| message.answer.as_ref());
    let marker = marker_of(first);
    let user = first.role == Role::User;
    MessageMarks {
        id: &first.id,
        user,
        summary: first.is_entry_of(EntryKind::Summary),
        parent: first.parent.as_deref(),
        finished: !user && answers().any(|answer| answer.finish.is_some()),
        failed: answers().any(|answer| answer.error.is_some()),
        marker: marker.is_some(),
        tail_start: marker.and_then(|marker| marker.tail_start.as_deref()),
    }
}

/// The marker in a message.
pub fn marker_of(message: &Message) -> Option<&Marker> {
    message.parts.iter().find_map(|part| match &part.kind {
        PartKind::Marker(marker) => Some(marker),
        _ => None,
    })
}

/// What the view filter needs to know of each stored message.
pub fn seen_all<'a>(history: &'a History, stored: &[StoredMessage]) -> Vec<MessageMarks<'a>> {
    stored
        .iter()
        .map(|unit| {
            let messages: Vec<&Message> =
                unit.items.iter().map(|pos| &**history.message(*pos)).collect();
            seen(&messages)
        })
        .collect()
}
