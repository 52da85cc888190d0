//! Writing a document format back over its own source.
//!
//! What a view shows is a sequence of messages, most of them read from records of the source. The
//! records that come out are the source's own bytes, patched where an edit lies over a part, cut where
//! a part of a record is hidden, and joined by new records for messages that the source does not hold.

use super::parts::has_text;
use super::raw::{Change, Item, json_string, patch, rebuild};
use super::source::Source;
use foldback_core::log::{Message, Part};
use foldback_core::view::{PartEdit, PartPos, ShownMessage};
use foldback_core::work;
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// The record of a message changed after it was read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("record {record}: {detail}")]
pub struct Stale {
    /// Index of the record.
    pub record: u32,
    /// What is wrong.
    pub detail: String,
}

/// A change to a record.
pub type RecordChange = (u32, (String, Change));

/// What differs from format to format.
pub trait Dialect {
    /// The JSON text that replaces a part under `edit`, at the part's pointer; `None` if the part stays as it was. `at`
    /// indexes the session's messages.
    fn edited(
        &self,
        _at: PartPos,
        _part: &Part,
        _pointer: &str,
        edit: &PartEdit,
    ) -> Option<String> {
        Some(json_string(&edit.text))
    }

    /// The changes to the part's record that apply `edit`, or, without one, that undo the recorder's own edit.
    fn changes(&self, at: PartPos, part: &Part, edit: Option<&PartEdit>) -> Vec<(String, Change)> {
        let (Some(pointer), Some(edit)) = (&part.pointer, edit) else {
            return Vec::new();
        };
        let new = has_text(part).then(|| self.edited(at, part, pointer, edit)).flatten();
        new.map(|new| (pointer.clone(), Change::Set(new))).into_iter().collect()
    }

    /// New records for messages that are not in the source; `after` is the last record written.
    fn generate(&mut self, messages: &[Message], after: Option<u32>) -> Vec<Value>;

    /// The object of a record that holds a note on messages that were left out.
    fn notes(&self) -> &'static str {
        ""
    }

    /// Records that hold part of the frame besides messages. That part stays when all their messages go.
    fn frame_records(&self) -> &[u32] {
        &[]
    }
}

/// The text of the source with the messages of `sequence`, and with `note` in its record.
///
/// # Errors
///
/// [`Stale`] if a record changed after it was read.
pub fn rewrite(
    own: &Own<'_>,
    sequence: &[ShownMessage<'_>],
    dialect: &mut dyn Dialect,
    note: Option<RecordChange>,
) -> Result<String, Stale> {
    Ok(rebuild(own.source, &items(own, sequence, dialect, note)?))
}

/// The records of [`rewrite`] one by one: which are copied, which are changed, which are new.
///
/// # Errors
///
/// As with [`rewrite`].
pub fn items(
    own: &Own<'_>,
    sequence: &[ShownMessage<'_>],
    dialect: &mut dyn Dialect,
    mut note: Option<RecordChange>,
) -> Result<Vec<Item>, Stale> {
    let runs = runs(own, sequence);
    let shown_records: BTreeSet<u32> = runs.iter().filter_map(|run| run.record).collect();
    let mut items: Vec<Item> = Vec::new();
    let mut loose = own.loose_records();
    for record in dialect.frame_records().to_vec() {
        if !shown_records.contains(&record) {
            items.push(own.cut(record, &BTreeSet::new(), Vec::new())?);
        }
    }
    push_loose(&mut items, &mut loose, None);
    let mut last = None;
    for run in &runs {
        match run.record {
            Some(record) => {
                let mut changes = Vec::new();
                for (index, shown) in &run.messages {
                    for (number, part) in shown.message.parts.iter().enumerate() {
                        let at = PartPos { item: *index, part: number };
                        changes.extend(dialect.changes(at, part, shown.edit(number)));
                    }
                }
                changes.extend(note.take_if(|(at, _)| *at == record).map(|(_, change)| change));
                let visible = run.messages.iter().map(|(index, _)| *index).collect();
                items.push(own.cut(record, &visible, changes)?);
                push_loose(&mut items, &mut loose, Some(record));
                last = Some(record);
            }
            None => {
                let messages: Vec<Message> =
                    run.messages.iter().map(|(_, shown)| shown.to_message()).collect();
                let records = dialect.generate(&messages, last);
                items.extend(records.into_iter().map(Item::New));
            }
        }
    }
    Ok(items)
}

/// Consecutive messages of one record, or consecutive messages without a record (`record` is `None`).
struct Run<'a, 'b> {
    record: Option<u32>,
    messages: Vec<(usize, &'b ShownMessage<'a>)>,
}

fn runs<'a, 'b>(own: &Own<'_>, sequence: &'b [ShownMessage<'a>]) -> Vec<Run<'a, 'b>> {
    let mut runs: Vec<Run<'a, 'b>> = Vec::new();
    for shown in sequence {
        let index = own.index_of(shown.message);
        let record = index.and_then(|_| shown.message.record);
        let index = index.unwrap_or(usize::MAX);
        match runs.last_mut() {
            Some(run) if run.record == record => run.messages.push((index, shown)),
            _ => runs.push(Run { record, messages: vec![(index, shown)] }),
        }
    }
    runs
}

/// Messages with the text that they were read from: finds the messages of a view among them, and their records.
pub struct Own<'a> {
    /// The messages.
    pub messages: &'a [Arc<Message>],
    /// The text.
    pub source: &'a Source,
    /// The messages by record: the messages of record `r` are `ends[r - 1]..ends[r]` of `by_record`, in order.
    by_record: Vec<usize>,
    ends: Vec<usize>,
    by_address: FxHashMap<*const Message, usize>,
    /// The indexes of the messages, sorted by id. Sorted on first use: most messages are found by their allocations.
    by_id: OnceCell<Vec<usize>>,
}

impl<'a> Own<'a> {
    /// Messages and the text that they were read from.
    pub fn new(messages: &'a [Arc<Message>], source: &'a Source) -> Self {
        let indexed = || messages.iter().enumerate();
        let by_address = indexed().map(|(index, message)| (Arc::as_ptr(message), index)).collect();
        let mut ends = vec![0; source.records.len() + 1];
        for record in messages.iter().filter_map(|message| message.record) {
            if let Some(count) = ends.get_mut(record as usize + 1) {
                *count += 1;
            }
        }
        let mut before = 0;
        for count in &mut ends {
            before += *count;
            *count = before;
        }
        // Each begins where the one before ends, and has its end behind it once all its messages are there.
        let mut by_record = vec![0; before];
        let next = &mut ends[..source.records.len()];
        for (index, message) in indexed() {
            if let Some(next) = message.record.and_then(|record| next.get_mut(record as usize)) {
                by_record[*next] = index;
                *next += 1;
            }
        }
        Self { messages, source, by_record, ends, by_address, by_id: OnceCell::new() }
    }

    /// The messages of a record.
    fn of_record(&self, record: u32) -> &[usize] {
        let record = record as usize;
        if record >= self.source.records.len() {
            return &[];
        }
        let begin = record.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.by_record[begin..self.ends[record]]
    }

    /// The indexes of the messages that `sequence` shows.
    pub fn shown(&self, sequence: &[ShownMessage<'_>]) -> BTreeSet<usize> {
        sequence.iter().filter_map(|shown| self.index_of(shown.message)).collect()
    }

    /// Index of a message: of the same allocation, or of an equal message with the same id.
    pub fn index_of(&self, message: &Arc<Message>) -> Option<usize> {
        if let Some(index) = self.by_address.get(&Arc::as_ptr(message)) {
            return Some(*index);
        }
        // A message without a record, such as a summary, equals none that has one.
        if message.record.is_none() && self.by_record.len() == self.messages.len() {
            return None;
        }
        let id = |index: &usize| self.messages[*index].id.as_str();
        let by_id = self.by_id.get_or_init(|| {
            let mut all: Vec<usize> = (0..self.messages.len()).collect();
            all.sort_by_key(|index| id(index));
            all
        });
        // The last one, where ids repeat.
        let end = by_id.partition_point(|index| id(index) <= message.id.as_str());
        let index = by_id[end.checked_sub(1)?];
        (*self.messages[index] == **message).then_some(index)
    }

    /// Records that are damaged, unknown, or all frame.
    fn loose_records(&self) -> Loose {
        let mut out = Loose::new();
        let mut anchor = None;
        for record in 0..self.source.records.len() as u32 {
            if !self.of_record(record).is_empty() {
                anchor = Some(record);
            } else {
                out.entry(anchor).or_default().push(record);
            }
        }
        out
    }

    /// A record with `changes`, without the elements that only messages other than `visible` hold.
    fn cut(
        &self,
        record: u32,
        visible: &BTreeSet<usize>,
        mut changes: Vec<(String, Change)>,
    ) -> Result<Item, Stale> {
        let of_record = self.of_record(record);
        work::count((of_record.len() + visible.len()) as u64);
        if of_record.iter().all(|index| visible.contains(index)) {
            return patched(self.source, record, &changes);
        }
        let elements = |index: usize| {
            self.messages[index]
                .parts
                .iter()
                .filter_map(|part| Some(element(part.pointer.as_deref()?)))
        };
        let kept: BTreeSet<Element<'_>> =
            visible.iter().flat_map(|index| elements(*index)).collect();
        let hidden: BTreeSet<Element<'_>> = of_record
            .iter()
            .filter(|index| !visible.contains(index))
            .flat_map(|index| elements(*index))
            .filter(|element| !kept.contains(element))
            .collect();
        // From the back, so that the indices in front stay what they were.
        for (array, index) in hidden.into_iter().rev() {
            changes.push((format!("/{array}/{index}"), Change::Remove));
        }
        patched(self.source, record, &changes)
    }
}

/// A record of a source: copied, or with `changes`.
///
/// # Errors
///
/// [`Stale`] where it is not what it was when it was read.
pub fn patched(source: &Source, record: u32, changes: &[(String, Change)]) -> Result<Item, Stale> {
    if changes.is_empty() {
        return Ok(Item::Keep(record));
    }
    let fail = |detail: String| Stale { record, detail };
    let raw =
        source.record(record).ok_or_else(|| fail("the source does not hold it".to_owned()))?;
    patch(raw, changes)
        .map(|changed| Item::Changed(record, changed))
        .map_err(|error| fail(error.to_string()))
}

/// The array of a record and the index in it that a part lives in.
type Element<'a> = (&'a str, usize);

/// The element of a record that a part with this pointer lives in: `/parts/3/state/output` lives in
/// element 3 of `parts`. A part that is not in an array has the index 0 and never is the only one
/// hidden, because its message is the record's only one.
fn element(pointer: &str) -> Element<'_> {
    let mut tokens = pointer.split('/').skip(1);
    let array = tokens.next().unwrap_or("");
    let index = tokens.next().and_then(|token| token.parse().ok());
    (array, index.unwrap_or(0))
}

/// Records without a message, by the record with messages that they follow.
type Loose = BTreeMap<Option<u32>, Vec<u32>>;

/// Keeps those that follow a record.
fn push_loose(items: &mut Vec<Item>, loose: &mut Loose, anchor: Option<u32>) {
    let behind = loose.remove(&anchor).unwrap_or_default();
    work::count(behind.len() as u64);
    items.extend(behind.into_iter().map(Item::Keep));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_known_by_their_record_or_by_their_id() {
        let source = Source::lines("{}\n{}\n{}\n");
        let message = |id: &str, record: Option<u32>| {
            let mut message = Message::user(id, "text");
            message.record = record;
            Arc::new(message)
        };
        // Two of one record, one of the last, one of a record behind the last, one without.
        let records = [("a", Some(0)), ("b", Some(2)), ("c", Some(0)), ("d", Some(3)), ("e", None)];
        let messages: Vec<_> = records.iter().map(|(id, record)| message(id, *record)).collect();
        let own = Own::new(&messages, &source);
        for (index, known) in messages.iter().enumerate() {
            assert_eq!(own.index_of(known), Some(index), "the same allocation");
            let equal = Arc::new(Message::clone(known));
            assert_eq!(own.index_of(&equal), Some(index), "an equal one");
            let mut other = Message::clone(known);
            other.mid_turn = true;
            assert_eq!(own.index_of(&Arc::new(other)), None, "another one of the same id");
        }
        let of_records: Vec<_> = (0..5).map(|record| own.of_record(record).to_vec()).collect();
        assert_eq!(of_records, [vec![0, 2], vec![], vec![1], vec![], vec![]]);
        assert_eq!(own.loose_records(), Loose::from([(Some(0), vec![1])]));
    }
}
