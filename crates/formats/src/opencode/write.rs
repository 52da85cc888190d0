//! From the canonical form back into an export.
//!
//! OpenCode's file is its store, not what it sends: it keeps everything and marks what is hidden. A
//! view that those marks can express is written as that store. Any other view (inserted messages, cut
//! texts, messages hidden without a compaction) is written as the messages that were sent.

use super::context::Context;
use super::generate::messages;
use crate::prelude::*;
use crate::rewrite::{Dialect, rewrite};
use crate::session::CLEARED;

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let session = view.session;
    let as_store = why_not_store(view);
    let sequence: Vec<ShownMessage<'_>> = match &as_store {
        None => view.stored.iter().map(|item| item.shown.clone()).collect(),
        Some(why) => {
            losses.push(format!("written as it was sent, not as OpenCode's store: {why}"));
            view.sent.clone()
        }
    };
    let other_placeholder = sequence
        .iter()
        .flat_map(|shown| &shown.edits)
        .filter(|(_, edit)| edit.kind == EditKind::Clear && &*edit.text != CLEARED)
        .count();
    if other_placeholder > 0 {
        losses.push(format!(
            "{other_placeholder} placeholders: OpenCode shows `{CLEARED}` for every cleared result"
        ));
    }
    let mut dialect = OpenCode {
        session,
        cleared: session.cleared.iter().map(|part| (part.at, part.time)).collect(),
        context: Context::new(session),
        losses,
        parsed: session.parsed(),
    };
    rewrite(view, &sequence, &mut dialect)
}

struct OpenCode<'a> {
    session: &'a Session,
    /// What the file has marked as cleared.
    cleared: HashMap<PartPos, i64>,
    context: Context,
    losses: &'a mut Vec<String>,
    parsed: Parsed<'a>,
}

impl Dialect for OpenCode<'_> {
    fn changes(&self, at: PartPos, part: &Part, edit: Option<&PartEdit>) -> Vec<(String, Change)> {
        let Some(pointer) = &part.pointer else {
            return Vec::new();
        };
        let marked = self.cleared.get(&at).copied();
        let mut changes = match edit {
            Some(edit) if is_mark(part, edit) && marked == Some(edit.at) => return Vec::new(),
            Some(edit) if is_mark(part, edit) => return self.mark(at, pointer, edit.at),
            Some(edit) => match &part.kind {
                // OpenCode stores arguments as an object.
                PartKind::Call(_) => vec![set(
                    pointer.clone(),
                    serde_json::from_str::<Value>(&edit.text)
                        .unwrap_or_else(|_| Value::from(&*edit.text))
                        .to_string(),
                )],
                PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => Vec::new(),
                _ => vec![set(pointer.clone(), json_string(&edit.text))],
            },
            None => Vec::new(),
        };
        // What is shown in full or cut is not cleared any more, whatever the recorder said.
        if marked.is_some() {
            changes.push((format!("{}/time/compacted", state(pointer)), Change::Remove));
        }
        changes
    }

    fn generate(&mut self, new: &[Message], after: Option<u32>) -> Vec<Value> {
        self.context.follow(self.session, after);
        messages(new, &mut self.context, self.losses)
    }
}

impl OpenCode<'_> {
    /// Sets the mark of a cleared result, where the part has a time to put it into and where not.
    fn mark(&self, at: PartPos, pointer: &str, time: i64) -> Vec<(String, Change)> {
        let times = format!("{}/time", state(pointer));
        let record = self.parsed.record_of(at.item);
        let has_times =
            record.is_some_and(|record| record.pointer(&times).is_some_and(Value::is_object));
        if has_times {
            vec![set(format!("{times}/compacted"), time.to_string())]
        } else {
            vec![set(times, format!("{{\"compacted\":{time}}}"))]
        }
    }
}

fn set(pointer: String, text: String) -> (String, Change) {
    (pointer, Change::Set(text))
}

/// The state of the tool part whose content lies at `pointer`.
fn state(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or(pointer, |(state, _)| state)
}

/// Whether an edit is what OpenCode's own mark says: the output of a completed call was cleared.
fn is_mark(part: &Part, edit: &PartEdit) -> bool {
    edit.kind == EditKind::Clear
        && part.as_result().is_some_and(|result| result.status == ResultStatus::Completed)
}

/// Why OpenCode's store cannot express a view; `None` where it can.
fn why_not_store(view: &View<'_>) -> Option<String> {
    if view.sent.iter().any(|shown| shown.pos.is_none()) {
        return Some("it has messages that stand in the request alone".to_owned());
    }
    let edits = view.stored.iter().flat_map(|item| {
        let parts = &item.shown.message.parts;
        let edits = item.shown.edits.iter();
        edits.filter_map(|(index, edit)| Some((parts.get(*index)?, *edit)))
    });
    let other = edits.filter(|(part, edit)| !is_mark(part, edit)).count();
    if other > 0 {
        return Some(format!("{other} edits are not the clearing of a completed tool result"));
    }
    (!hidden_by_markers(view))
        .then(|| "it hides messages that no compaction marker of the store hides".to_owned())
}

/// Whether what the view hides of the log is what a marker with its summary hides: everything before
/// the marker, but for a tail that the marker names. Messages that OpenCode never renders do not count.
fn hidden_by_markers(view: &View<'_>) -> bool {
    let unsent = unsent_records(view);
    let counts = |message: &Message| {
        !message.is_entry() && message.record.is_none_or(|record| !unsent.contains(&record))
    };
    let counted = || view.stored.iter().enumerate().filter(|(_, item)| counts(item.shown.message));
    let Some(last_hidden) = counted().rev().find(|(_, item)| !item.visible) else { return true };
    let first_shown = counted().find(|(_, item)| item.visible);
    let first_shown = first_shown.map_or(view.stored.len(), |(index, _)| index);
    // Where what is shown begins.
    let begins = last_hidden.0 + 1..=first_shown;
    let summarised: HashSet<&str> = view
        .stored
        .iter()
        .filter(|item| item.shown.message.is_entry_of(EntryKind::Summary))
        .filter_map(|item| item.shown.message.parent.as_deref())
        .collect();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, item) in view.stored.iter().enumerate() {
        places.entry(&item.shown.message.id).or_insert(index);
    }
    view.stored.iter().enumerate().any(|(at, item)| {
        let marker = item.shown.message.parts.iter().find_map(|part| match &part.kind {
            PartKind::Marker(marker) => Some(marker),
            _ => None,
        });
        let Some(marker) = marker.filter(|_| summarised.contains(&*item.shown.message.id)) else {
            return false;
        };
        let tail = marker.tail_start.as_deref().and_then(|start| places.get(start).copied());
        begins.contains(&tail.unwrap_or(at))
    })
}

/// Records that OpenCode leaves out of a request: failed answers and messages without content.
fn unsent_records(view: &View<'_>) -> BTreeSet<u32> {
    view.stored
        .iter()
        .map(|item| item.shown.message)
        .filter(|message| {
            let failed = message.answer.as_ref().is_some_and(|answer| answer.error.is_some());
            failed || (message.role != Role::Tool && message.parts.is_empty())
        })
        .filter_map(|message| message.record)
        .collect()
}
