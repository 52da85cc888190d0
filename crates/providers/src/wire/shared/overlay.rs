//! The changes of a strategy to a session, as changes to the records of its file.
//!
//! The line formats share this: which lines stay, which values in them change, and where something
//! new stands. Unlike in documents ([`rewrite`](super::rewrite)) a message may come from several lines that
//! others stand between, and most lines belong to no message. Only the shape of what is new is the
//! format's own.

use super::raw::{Change, Item};
use super::rewrite::{Own, Stale, patched};
use super::source::Source;
use foldback_core::log::{Message, Part};
use foldback_core::view::{PartEdit, PartPos, ShownMessage};
use std::collections::{BTreeMap, BTreeSet};

/// What a format says about its records.
pub struct Rules {
    /// The JSON text that replaces an edited part at its pointer; `None` if the part has no pointer.
    pub edited: fn(&Part, &str) -> Option<String>,
    /// The element of a record that holds a part, from the part's pointer. It is removed if the record's other messages
    /// stay.
    pub element: fn(&str) -> Option<&str>,
}

/// One step of the file to be written.
pub enum Step<'a> {
    /// A record of the source, with the changes of [`Overlay::changes`].
    Record(u32),
    /// A message that is not in the source.
    New(&'a ShownMessage<'a>),
}

/// The changes, in the order of the file to be written.
pub struct Overlay<'a> {
    pub steps: Vec<Step<'a>>,
    /// Changes inside records that stay.
    pub changes: BTreeMap<u32, Vec<(String, Change)>>,
    /// Records that are left out.
    pub dropped: BTreeSet<u32>,
    pub losses: Vec<String>,
}

impl<'a> Overlay<'a> {
    /// The changes that hide and edit messages as `sent` does. `stands` says whether the source already holds an edit, as a
    /// note beside the text.
    pub fn compare(
        own: &Own<'_>,
        sent: &[ShownMessage<'_>],
        rules: &Rules,
        stands: &dyn Fn(PartPos, &PartEdit) -> bool,
    ) -> Self {
        let mut overlay = Self {
            steps: Vec::new(),
            changes: BTreeMap::new(),
            dropped: BTreeSet::new(),
            losses: Vec::new(),
        };
        overlay.drop_hidden(own, &own.shown(sent), rules);
        for shown in sent {
            if let Some(item) = own.index_of(shown.message) {
                overlay.edit(item, shown, rules, stands);
            }
        }
        overlay
    }

    fn drop_hidden(&mut self, own: &Own<'_>, visible: &BTreeSet<usize>, rules: &Rules) {
        let mut owners: BTreeMap<u32, (bool, Vec<&Part>)> = BTreeMap::new();
        for (index, message) in own.messages.iter().enumerate() {
            let shown = visible.contains(&index);
            for record in records_of(message) {
                owners.entry(record).or_default().0 |= shown;
            }
            if !shown {
                for part in &message.parts {
                    if let Some(record) = part.source_record.or(message.record) {
                        owners.entry(record).or_default().1.push(part);
                    }
                }
            }
        }
        for (record, (stays, hidden)) in owners {
            if !stays {
                self.dropped.insert(record);
                continue;
            }
            // From the back, so that the pointers in front stay right.
            for part in hidden.iter().rev() {
                match part.pointer.as_deref().and_then(rules.element) {
                    Some(element) => {
                        let changes = self.changes.entry(record).or_default();
                        changes.push((element.to_owned(), Change::Remove));
                    }
                    None => self.losses.push(format!(
                        "record {record}: a hidden part shares it with a shown one and stays"
                    )),
                }
            }
        }
    }

    fn edit(
        &mut self,
        item: usize,
        shown: &ShownMessage<'_>,
        rules: &Rules,
        stands: &dyn Fn(PartPos, &PartEdit) -> bool,
    ) {
        for (index, edit) in &shown.edits {
            let Some(part) = shown.message.parts.get(*index) else {
                continue;
            };
            let at = PartPos { item, part: *index };
            if stands(at, edit) {
                continue;
            }
            let record = part.source_record.or(shown.message.record);
            let change = part.pointer.clone().zip((rules.edited)(part, &edit.text));
            match record.zip(change) {
                // In front of the removals: both name places in the record as it was.
                Some((record, (pointer, new))) => {
                    self.changes.entry(record).or_default().insert(0, (pointer, Change::Set(new)))
                }
                None => self.losses.push(format!(
                    "message {}: the edited {} part has no place in the file; left as it was",
                    shown.message.id,
                    part.kind_name()
                )),
            }
        }
    }

    /// The file's own order with what is new in between. Where the view itself is in another order,
    /// its order, and each record takes along the ones behind it that no message was read from.
    #[must_use]
    pub fn arranged(mut self, own: &Own<'_>, sent: &'a [ShownMessage<'a>]) -> Self {
        let records = (0u32..).take(own.source.records.len());
        let kept = |record: &u32| !self.dropped.contains(record);
        let mut inserts: BTreeMap<Option<u32>, Vec<&'a ShownMessage<'a>>> = BTreeMap::new();
        let mut waiting = Vec::new();
        let mut sequence = Vec::new();
        for shown in sent {
            let record = own.index_of(shown.message).and(shown.message.record);
            match record {
                Some(record) => {
                    inserts.entry(Some(record)).or_default().append(&mut waiting);
                    sequence.push((record, records_of(shown.message)));
                }
                None => waiting.push(shown),
            }
        }
        inserts.entry(None).or_default().append(&mut waiting);
        let ordered = sequence.is_sorted_by_key(|(first, _)| *first);
        let chunks: Vec<Vec<u32>> = if ordered {
            records.filter(kept).map(|record| vec![record]).collect()
        } else {
            chunks(records.filter(kept), &sequence)
        };
        for chunk in chunks {
            for record in chunk {
                for shown in inserts.remove(&Some(record)).unwrap_or_default() {
                    self.steps.push(Step::New(shown));
                }
                self.steps.push(Step::Record(record));
            }
        }
        for shown in inserts.remove(&None).unwrap_or_default() {
            self.steps.push(Step::New(shown));
        }
        self
    }

    /// Whether the file stays unchanged.
    pub fn is_empty(&self) -> bool {
        let is_new = |step: &Step<'_>| matches!(step, Step::New(_));
        self.dropped.is_empty() && self.changes.is_empty() && !self.steps.iter().any(is_new)
    }

    /// The item of a record: copied, or patched.
    ///
    /// # Errors
    ///
    /// [`Stale`] if the record changed after it was read.
    pub fn item(&self, source: &Source, record: u32) -> Result<Item, Stale> {
        patched(source, record, self.changes.get(&record).map_or(&[], Vec::as_slice))
    }

    /// Losses: what could not be changed, and the records that are left out, for which `more` is the text.
    pub fn tell(&self, losses: &mut Vec<String>, more: &str) {
        losses.extend(self.losses.iter().cloned());
        if !self.dropped.is_empty() {
            let count = self.dropped.len();
            losses.push(format!(
                "{count} line(s) of messages that are no longer sent were taken out{more}"
            ));
        }
    }
}

/// Every record that a message was read from, its own first.
pub fn records_of(message: &Message) -> Vec<u32> {
    let mut records: Vec<u32> = message.record.into_iter().collect();
    for record in message.parts.iter().filter_map(|part| part.source_record) {
        if !records.contains(&record) {
            records.push(record);
        }
    }
    records
}

/// The records in the order of `sequence`; those that belong to no message follow the one before them.
fn chunks(records: impl Iterator<Item = u32>, sequence: &[(u32, Vec<u32>)]) -> Vec<Vec<u32>> {
    let owned: BTreeSet<u32> = sequence.iter().flat_map(|(_, all)| all).copied().collect();
    let mut head = Vec::new();
    let mut behind: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut current = None;
    for record in records {
        if owned.contains(&record) {
            current = Some(record);
            behind.insert(record, vec![record]);
        } else {
            match current.and_then(|current| behind.get_mut(&current)) {
                Some(chunk) => chunk.push(record),
                None => head.push(record),
            }
        }
    }
    let mut out = vec![head];
    for (_, all) in sequence {
        for record in all {
            out.extend(behind.remove(record));
        }
    }
    out
}
