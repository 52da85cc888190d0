//! Log and entries together, in stored order: what the original program would have in its store.
//!
//! A history only grows, so a position never comes to mean another message. Entries (the messages
//! that compaction writes) are appended like any other; undoing a fold withdraws its entries in
//! place instead of removing them.

use crate::log::{Message, Role, ToolCall};
use crate::position::Pos;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Index of a [`Group`].
pub type GroupId = usize;

/// A message with its tool results, or a message alone: the unit that is kept or cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The messages in stored order; the first one holds the calls.
    pub items: Vec<Pos>,
}

#[derive(Clone, Debug)]
struct Item {
    message: Arc<Message>,
    group: GroupId,
    withdrawn: bool,
}

/// The messages of one conversation in stored order.
#[derive(Clone, Debug, Default)]
pub struct History {
    items: Vec<Item>,
    groups: Vec<Group>,
    /// The group that a call id was last seen in. Recordings do repeat ids; the latest call wins.
    open_calls: HashMap<String, GroupId>,
    /// By position, the last message of any group that begins there or before: a cut is clean where
    /// nothing before it reaches across.
    reach: Vec<Pos>,
    log_len: usize,
    #[cfg(feature = "count-reads")]
    reads: Reads,
}

/// How often messages were handed out: for tests that hold the cost of a call against the length of the
/// history.
#[cfg(feature = "count-reads")]
#[derive(Debug, Default)]
struct Reads(std::sync::atomic::AtomicU64);

#[cfg(feature = "count-reads")]
impl Clone for Reads {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl History {
    /// How often messages were handed out so far, by all that look at this history.
    #[cfg(feature = "count-reads")]
    pub fn reads(&self) -> u64 {
        self.reads.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn count_read(&self) {
        #[cfg(feature = "count-reads")]
        self.reads.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// Appends a message and files it under its group.
    pub fn append(&mut self, message: Arc<Message>) -> Pos {
        let pos = self.items.len();
        let group = match message.role {
            Role::Tool => message
                .parts
                .iter()
                .filter_map(|part| part.as_result())
                .find_map(|result| self.open_calls.get(&result.call_id).copied()),
            _ => None,
        };
        let group = group.unwrap_or_else(|| {
            self.groups.push(Group { items: Vec::new() });
            self.groups.len() - 1
        });
        let first = self.groups[group].items.first().copied().unwrap_or(pos);
        for reach in self.reach.iter_mut().skip(first) {
            *reach = (*reach).max(pos);
        }
        self.reach.push(self.reach.last().map_or(pos, |reach| pos.max(*reach)));
        self.groups[group].items.push(pos);
        for call_id in message.call_ids() {
            self.open_calls.insert(call_id.to_owned(), group);
        }
        if !message.is_entry() {
            self.log_len += 1;
        }
        self.items.push(Item { message, group, withdrawn: false });
        pos
    }

    /// Number of messages, withdrawn ones included; also the position of the next one.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Number of messages of the log.
    pub fn log_len(&self) -> usize {
        self.log_len
    }

    /// The message at a position that this history gave out.
    pub fn message(&self, pos: Pos) -> &Arc<Message> {
        self.count_read();
        &self.items[pos].message
    }

    /// The message at a position, if there is one and it was not withdrawn.
    pub fn get(&self, pos: Pos) -> Option<&Arc<Message>> {
        self.count_read();
        self.items.get(pos).filter(|item| !item.withdrawn).map(|item| &item.message)
    }

    /// Whether the entry at this position was taken back by an undo.
    pub fn is_withdrawn(&self, pos: Pos) -> bool {
        self.items.get(pos).is_some_and(|item| item.withdrawn)
    }

    /// Positions and messages, oldest first, without withdrawn ones. Reversible.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Pos, &Arc<Message>)> {
        self.range(0..self.items.len())
    }

    /// The same over a range of positions.
    pub fn range(
        &self,
        range: Range<Pos>,
    ) -> impl DoubleEndedIterator<Item = (Pos, &Arc<Message>)> {
        let end = range.end.min(self.items.len());
        let start = range.start.min(end);
        self.items[start..end]
            .iter()
            .enumerate()
            .filter(|(_, item)| !item.withdrawn)
            .inspect(|_| self.count_read())
            .map(move |(offset, item)| (start + offset, &item.message))
    }

    /// The position of a message by its id; the latest one where an id repeats. Looks from the end: an
    /// index of all ids would cost every append what a few callers gain.
    pub fn position(&self, id: &str) -> Option<Pos> {
        self.items.iter().rposition(|item| item.message.id == id)
    }

    /// The group that a message belongs to.
    pub fn group_of(&self, pos: Pos) -> GroupId {
        self.items[pos].group
    }

    /// The messages of a group.
    pub fn group(&self, group: GroupId) -> &Group {
        &self.groups[group]
    }

    /// All groups, by the order of their first message.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Positions of the results that came for a call of the message at `pos`.
    pub fn results_of<'h>(&'h self, pos: Pos, call: &'h str) -> impl Iterator<Item = Pos> + 'h {
        let items = self.group(self.group_of(pos)).items.iter().copied();
        items.filter(move |item| {
            let mut parts = self.message(*item).parts.iter();
            parts.any(|part| part.as_result().is_some_and(|result| result.call_id == call))
        })
    }

    /// The position of the newest answer, and those of its calls that have no result yet.
    pub fn unanswered(&self) -> Option<(Pos, Vec<&ToolCall>)> {
        let (pos, answer) = self.iter().rev().find(|(_, message)| message.is_answer())?;
        let calls = answer.parts.iter().filter_map(|part| part.as_call());
        let open = calls.filter(|call| self.results_of(pos, &call.call_id).next().is_none());
        Some((pos, open.collect()))
    }

    /// Whether a cut before `pos` would leave a call on one side and a result of it on the other.
    pub fn splits_group(&self, pos: Pos) -> bool {
        pos.checked_sub(1)
            .and_then(|before| self.reach.get(before))
            .is_some_and(|reach| *reach >= pos)
    }

    pub(crate) fn withdraw(&mut self, pos: Pos) {
        if let Some(item) = self.items.get_mut(pos) {
            item.withdrawn = true;
        }
    }
}
