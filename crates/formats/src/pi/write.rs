//! A session as pi would find it: the recorder's own lines where nothing changed.

use super::generate::{self, Envelope};
use super::line::{self, Entries, Entry};
use crate::bodies;
use crate::jsonl::uuid;
use crate::overlay::{Rules, Step, overlay};
use crate::prelude::*;
use crate::raw::{Item, rebuild};
use crate::time::stamp;

/// An entry holds one message, so nothing is ever taken out of one.
const RULES: Rules = Rules { edited: generate::edited, element: |_| None };

/// Short ids as pi makes them, deterministic and unique.
struct NewIds {
    session: String,
    ids: Ids,
}

impl NewIds {
    fn new(session: &str, taken: &[Entry]) -> Self {
        let mut ids = Ids::default();
        for id in taken.iter().filter_map(Entry::id) {
            ids.unique(id);
        }
        Self { session: session.to_owned(), ids }
    }

    fn id(&mut self, message: &str) -> String {
        let id = uuid(&format!("pi/{}/{message}", self.session));
        self.ids.unique(id.get(..8).unwrap_or(&id))
    }
}

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let session = view.session;
    let entries = line::parse(&session.source.text);
    let mut overlay = overlay(view, &RULES, &entries.copies);
    overlay.tell(losses, "");
    if overlay.is_empty() {
        return Ok(session.source.text.to_string());
    }
    let steps = std::mem::take(&mut overlay.steps);
    let mut tree = Tree::new(&entries, &overlay.dropped, &steps);
    let mut ids = NewIds::new(&session.id, &entries.entries);
    let mut items = Vec::with_capacity(steps.len());
    let mut last = None;
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Record(record) => {
                if let Some(entry) = tree.entry(*record) {
                    for (pointer, json) in tree.relink(entry) {
                        let changes = overlay.changes.entry(*record).or_default();
                        changes.push((pointer.to_owned(), Change::Set(json)));
                    }
                    if tree.on_path.contains(record) {
                        last = entry.id().map(str::to_owned);
                    }
                }
                items.push(overlay.item(&session.source, *record)?);
            }
            Step::New(shown) => {
                let next = tree.next(&steps, place);
                let message = shown.to_message();
                let link = tree.has_ids.then(|| {
                    let parent = tree.hook.take().or_else(|| last.take());
                    (ids.id(&message.id), parent)
                });
                tree.hook = link.as_ref().map(|(id, _)| id.clone());
                let envelope = Envelope {
                    link,
                    timestamp: next
                        .and_then(|entry| value::string(&entry.value, "timestamp"))
                        .unwrap_or_else(|| stamp(message.at)),
                };
                let text = message.shown_text();
                let heads = message.is_entry_of(EntryKind::Summary) && view.begins_with(shown);
                items.push(Item::New(match heads {
                    true => envelope.compaction(&text, tree.first_kept(next, place)),
                    false => envelope.message(generate::user(&text)),
                }));
            }
        }
    }
    Ok(rebuild(&session.source, &items))
}

/// The references between entries, before and after lines were added and removed.
struct Tree<'a> {
    by_record: HashMap<u32, &'a Entry>,
    by_id: HashMap<&'a str, u32>,
    /// Records that stay, in order, with their new number as `firstKeptEntryIndex` counts.
    kept: BTreeMap<u32, usize>,
    on_path: BTreeSet<u32>,
    dropped: &'a BTreeSet<u32>,
    has_ids: bool,
    /// Id of the last new entry, for the entry of the path that comes after it.
    hook: Option<String>,
    /// The new number of each step.
    numbers: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(entries: &'a Entries, dropped: &'a BTreeSet<u32>, steps: &[Step<'_>]) -> Self {
        let all = &entries.entries;
        let by_record: HashMap<u32, &Entry> = all.iter().map(|e| (e.record, e)).collect();
        let mut kept = BTreeMap::new();
        let mut numbers = Vec::with_capacity(steps.len());
        let mut number = 0;
        for step in steps {
            numbers.push(number);
            let counts = match step {
                Step::Record(record) => {
                    kept.insert(*record, number);
                    match by_record.get(record) {
                        Some(entry) => entry.index.is_some(),
                        None => entries.copies.contains_key(record),
                    }
                }
                Step::New(_) => true,
            };
            number += usize::from(counts);
        }
        Self {
            by_id: all.iter().rev().filter_map(|entry| Some((entry.id()?, entry.record))).collect(),
            on_path: line::path(all).on.iter().map(|&i| all[i].record).collect(),
            has_ids: all.iter().any(|e| e.value.get("parentId").is_some()),
            by_record,
            kept,
            dropped,
            hook: None,
            numbers,
        }
    }

    fn entry(&self, record: u32) -> Option<&'a Entry> {
        self.by_record.get(&record).copied()
    }

    /// Changes of an entry that follow from added and removed entries.
    fn relink(&mut self, entry: &Entry) -> Vec<(&'static str, String)> {
        let mut changes = Vec::new();
        if entry.value.get("parentId").is_some() {
            let on_path = self.on_path.contains(&entry.record);
            let parent = match self.hook.take_if(|_| on_path) {
                Some(new) => Some(Some(new)),
                None => self.gone(entry).then(|| self.ancestor(entry)),
            };
            if let Some(parent) = parent {
                changes.push(("/parentId", json!(parent).to_string()));
            }
        }
        if let Some(index) = entry.value["firstKeptEntryIndex"].as_u64() {
            let record = self.by_record.values().find(|e| e.index == Some(index as usize));
            let new = record.and_then(|e| self.kept.range(e.record..).next());
            if let Some((_, number)) = new.filter(|(_, number)| **number != index as usize) {
                changes.push(("/firstKeptEntryIndex", number.to_string()));
            }
        }
        let first = value::text(&entry.value, "firstKeptEntryId").and_then(|id| self.by_id.get(id));
        if let Some(record) = first.filter(|record| self.dropped.contains(record)) {
            let next = self
                .kept
                .range(*record..)
                .filter(|(record, _)| self.on_path.contains(record))
                .find_map(|(record, _)| self.entry(*record)?.id());
            if let Some(next) = next {
                changes.push(("/firstKeptEntryId", json_string(next)));
            }
        }
        changes
    }

    fn parent(&self, entry: &Entry) -> Option<&'a Entry> {
        let id = value::text(&entry.value, "parentId")?;
        self.entry(*self.by_id.get(id)?)
    }

    fn gone(&self, entry: &Entry) -> bool {
        self.parent(entry).is_some_and(|parent| self.dropped.contains(&parent.record))
    }

    /// Id of the nearest entry up the tree that stays.
    fn ancestor(&self, entry: &Entry) -> Option<String> {
        let mut at = self.parent(entry)?;
        // Bounded, since a damaged file may hold a cycle.
        for _ in 0..self.by_record.len() {
            if !self.dropped.contains(&at.record) {
                return at.id().map(str::to_owned);
            }
            at = self.parent(at)?;
        }
        None
    }

    /// The next entry of the path behind a step.
    fn next(&self, steps: &[Step<'_>], place: usize) -> Option<&'a Entry> {
        steps.iter().skip(place + 1).find_map(|step| match step {
            Step::Record(record) if self.on_path.contains(record) => self.entry(*record),
            _ => None,
        })
    }

    /// What a new compaction at `place` names as the first entry that it keeps.
    fn first_kept(&self, next: Option<&Entry>, place: usize) -> (&'static str, serde_json::Value) {
        match self.has_ids {
            true => ("firstKeptEntryId", json!(next.and_then(Entry::id).unwrap_or(""))),
            false => {
                let number = self.numbers.get(place).copied().unwrap_or(0);
                ("firstKeptEntryIndex", json!(number + 1))
            }
        }
    }
}

pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    if !view.frame.segments().is_empty() {
        let lost = "the system prompt and the tool definitions: pi makes them anew";
        losses.push(lost.to_owned());
    }
    let sent = view.messages();
    let mut ids = NewIds::new(&view.session.id, &[]);
    let names: Vec<String> = sent.iter().map(|message| ids.id(&message.id)).collect();
    let header = json!({
        "type": "session",
        "version": 3,
        "id": view.session.id,
        "timestamp": sent.first().map(|message| stamp(message.at)),
        "cwd": "",
    });
    let mut lines = vec![header];
    let mut parent: Option<String> = None;
    for (index, (message, name)) in sent.iter().zip(&names).enumerate() {
        let link = Some((name.clone(), parent.clone()));
        let envelope = Envelope { link, timestamp: stamp(message.at) };
        let line = if index == 0 && message.is_entry_of(EntryKind::Summary) {
            let first = names.get(1).map_or("", String::as_str);
            envelope.compaction(&message.shown_text(), ("firstKeptEntryId", json!(first)))
        } else {
            let message = generate::message(message, losses);
            // What pi has no place for leaves nothing of some messages, which a provider would refuse.
            if value::list(&message, "content").is_empty() {
                continue;
            }
            envelope.message(message)
        };
        lines.push(line);
        parent = Some(name.clone());
    }
    Ok(bodies::lines(lines, "\n") + "\n")
}
