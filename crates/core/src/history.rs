//! Log and entries together, in stored order, as the original program would store them.
//!
//! A history only grows, so a position always means the same message. Entries (the messages
//! that compaction writes) are appended like any other; undoing a fold withdraws its entries in
//! place instead of removing them.

use crate::log::{Derived, Message, Origin, Role, ToolCall};
use crate::position::Pos;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Index of a [`Group`].
#[doc(hidden)]
pub type GroupId = usize;

/// A message with its tool results, or a message alone: the unit that is kept or cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The messages in stored order; the first one holds the calls.
    pub items: SmallVec<[Pos; 2]>,
}

#[derive(Clone, Debug)]
struct Item {
    message: Arc<Message>,
    group: GroupId,
    withdrawn: bool,
    kind: Kind,
    at: Option<i64>,
}

/// The kind of a message, stored separately so that a walk over thousands reads none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Kind {
    /// Who speaks.
    pub role: Role,
    /// Whether it happened or a compaction wrote it.
    pub origin: Origin,
    /// Whether it calls tools.
    pub calls: bool,
}

impl Kind {
    /// The kind of a message.
    #[doc(hidden)]
    pub fn from_message(message: &Message) -> Self {
        let calls = message.call_ids().next().is_some();
        Self { role: message.role, origin: message.origin, calls }
    }
}

/// The messages of one conversation in stored order.
#[derive(Clone, Debug, Default)]
pub struct History {
    items: Vec<Item>,
    groups: Vec<Group>,
    /// Where calls were made, oldest first.
    calling: Vec<Pos>,
    /// The group that a call id was last seen in. Recordings do repeat ids; the latest call wins. Nearly
    /// every result belongs to the newest calls, so this is only filled when one does not.
    open_calls: HashMap<String, GroupId>,
    /// How many of `calling` are in it.
    indexed: usize,
    /// By position, whether a group has messages on both sides of a cut before it.
    split: Vec<bool>,
    log_len: usize,
    withdrawn: usize,
    /// The newest time of a message so far.
    newest: Option<i64>,
    derived: Derived,
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

/// Calls of the newest message that are compared one by one; from there on they are indexed.
const FEW_CALLS: usize = 8;

impl History {
    /// How often messages were handed out so far, by all that look at this history.
    #[cfg(feature = "count-reads")]
    #[doc(hidden)]
    pub fn reads(&self) -> u64 {
        self.reads.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn count_read(&self) {
        #[cfg(feature = "count-reads")]
        self.reads.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// When a message was stored, in milliseconds since the Unix epoch, where known. A clock that runs backwards stands still: no
    /// message is older than one before it.
    pub fn time(&self, pos: Pos) -> Option<i64> {
        self.items[pos].at
    }

    /// Appends a message and files it under its group.
    #[doc(hidden)]
    pub fn append(&mut self, message: Arc<Message>) -> Pos {
        let pos = self.items.len();
        let kind = Kind::from_message(&message);
        let group = match kind.role {
            Role::Tool => message
                .parts
                .iter()
                .filter_map(|part| part.as_result())
                .find_map(|result| self.group_calling(&result.call_id)),
            _ => None,
        };
        let group = group.unwrap_or_else(|| {
            self.groups.push(Group { items: SmallVec::new() });
            self.groups.len() - 1
        });
        let items = &mut self.groups[group].items;
        self.split.push(false);
        // Up to the last message of the group the cuts are marked already.
        if let Some(last) = items.last() {
            self.split[last + 1..].fill(true);
        }
        items.push(pos);
        if kind.calls {
            self.calling.push(pos);
        }
        if !message.is_entry() {
            self.log_len += 1;
        }
        let at = message.at.map(|at| self.newest.map_or(at, |newest| at.max(newest)));
        self.newest = at.or(self.newest);
        self.items.push(Item { message, group, withdrawn: false, kind, at });
        pos
    }

    /// The group of the latest call with this id.
    fn group_calling(&mut self, call_id: &str) -> Option<GroupId> {
        let newest = &self.items[*self.calling.last()?];
        let few = newest.message.call_ids().take(FEW_CALLS);
        crate::work::count(FEW_CALLS as u64);
        if few.into_iter().any(|id| id == call_id) {
            return Some(newest.group);
        }
        for pos in &self.calling[self.indexed..] {
            let Item { message, group, .. } = &self.items[*pos];
            for call_id in message.call_ids() {
                self.open_calls.insert(call_id.to_owned(), *group);
            }
        }
        self.indexed = self.calling.len();
        self.open_calls.get(call_id).copied()
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

    /// What kind of message is at a position that this history gave out.
    #[doc(hidden)]
    pub fn kind(&self, pos: Pos) -> Kind {
        self.items[pos].kind
    }

    /// Whether the entry at this position was taken back by an undo.
    #[doc(hidden)]
    pub fn is_withdrawn(&self, pos: Pos) -> bool {
        self.items.get(pos).is_some_and(|item| item.withdrawn)
    }

    /// How many entries were taken back by undos.
    #[doc(hidden)]
    pub fn withdrawn(&self) -> usize {
        self.withdrawn
    }

    /// What stages keep of this history from fold to fold. The history grows, so such a value notes how far
    /// it has read, in a lock of its own.
    #[doc(hidden)]
    pub fn derived(&self) -> &Derived {
        &self.derived
    }

    /// Positions and messages, oldest first, without withdrawn ones. Reversible.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Pos, &Arc<Message>)> {
        self.range(0..self.items.len())
    }

    /// The messages at a range of positions.
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
    #[doc(hidden)]
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

    /// The calls without a result that are waited for, oldest first, with the positions of their answers: those of the
    /// newest answer, and of the answers directly before it. Some agents write down the next answer before the results
    /// of the one before have come, and providers take such neighbors for one.
    pub fn open_calls(&self) -> Vec<(Pos, &ToolCall)> {
        let mut answers = SmallVec::<[(Pos, &Message); 2]>::new();
        for (pos, message) in self.iter().rev() {
            match message.role {
                _ if message.is_answer() => answers.push((pos, message)),
                _ if answers.is_empty() => {}
                _ => break,
            }
        }
        let calls = answers.into_iter().rev().flat_map(|(pos, answer)| {
            answer.parts.iter().filter_map(move |part| Some((pos, part.as_call()?)))
        });
        calls.filter(|(pos, call)| self.results_of(*pos, &call.call_id).next().is_none()).collect()
    }

    /// Whether a cut before `pos` would leave a call on one side and a result of it on the other.
    #[doc(hidden)]
    pub fn splits_group(&self, pos: Pos) -> bool {
        self.split.get(pos).copied().unwrap_or(false)
    }

    pub(crate) fn withdraw(&mut self, pos: Pos) {
        if let Some(item) = self.items.get_mut(pos) {
            self.withdrawn += usize::from(!item.withdrawn);
            item.withdrawn = true;
        }
    }
}
