//! From items to the canonical form.

use super::{FORMAT, LISTS};
use crate::prelude::*;
use foldback_providers::wire::responses;

/// Reads a document, or the documents or items of a file with one a line.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    match value::document(text) {
        Ok(root) => match conversation(text, &root)? {
            Some(session) => Ok(vec![session]),
            None => Err(value::malformed(
                "/input",
                "a list of items is needed here, in `output` or at the top",
            )),
        },
        Err(error) => lines(text).ok_or(error),
    }
}

/// A file of lines: each a body, or each an item of one conversation.
fn lines(text: &str) -> Option<Vec<Session>> {
    let source = Source::lines(text);
    let mut sessions = Vec::new();
    let mut items = Vec::new();
    let mut damaged = Vec::new();
    for (record, root) in jsonl::values(&source) {
        match root {
            Ok(root) => match conversation(source.record(record)?, &root) {
                Ok(Some(session)) => sessions.push(session),
                _ => items.push((record, root)),
            },
            Err(warning) => damaged.push(warning),
        }
    }
    if sessions.is_empty() {
        let items = items.iter().map(|(record, item)| (*record, item));
        let session = session(value::content_id(text), source, &Value::Null, items);
        if session.messages.is_empty() {
            return None;
        }
        sessions.push(session);
    } else {
        for (record, _) in items {
            let place = source.place(record);
            sessions[0].warn("damaged-line", place, "no list of items in it; left out");
        }
    }
    sessions[0].warnings.extend(damaged);
    Some(sessions)
}

/// The conversation of a document; `None` where it holds no list of items.
fn conversation(text: &str, root: &Value) -> Result<Option<Session>, ReadError> {
    let lists: Vec<&str> =
        LISTS.into_iter().filter(|list| root.pointer(list).is_some_and(Value::is_array)).collect();
    let mut records = Vec::new();
    let asked = root.get("input").filter(|input| input.is_string());
    let fail = |error: raw::RawError| value::malformed("/input", error.to_string());
    if asked.is_some() {
        records.push(raw::locate(text, "/input").map_err(fail)?);
    }
    for list in &lists {
        records.extend(raw::elements(text, list).map_err(fail)?);
    }
    if lists.is_empty() && asked.is_none() {
        return Ok(None);
    }
    // Records in the order of the file; a response may stand before what it answers.
    let sent = records.clone();
    records.sort_by_key(|range| range.start);
    let source = Source { text: text.into(), shape: Shape::Document, records: records.into() };
    let id = value::first_string(root, &["conversation_id", "session_id", "id"])
        .unwrap_or_else(|| value::content_id(text));
    let items = lists.iter().filter_map(|list| root.pointer(list)?.as_array()).flatten();
    let items: Vec<(u32, &Value)> = sent
        .iter()
        .zip(asked.into_iter().chain(items))
        .map(|(range, item)| {
            let record = source.records.partition_point(|other| other.start < range.start);
            (record as u32, item)
        })
        .collect();
    Ok(Some(session(id, source, root, items.into_iter())))
}

/// The session of a body and its items, each with the index of its record.
fn session<'a>(
    id: String,
    source: Source,
    root: &Value,
    items: impl Iterator<Item = (u32, &'a Value)> + Clone,
) -> Session {
    let is_call =
        |item: &Value| value::text(item, "type").is_some_and(|kind| kind.ends_with("_call"));
    let recorded = Recorded {
        messages: items.clone().count(),
        tool_calls: items.clone().filter(|(_, item)| is_call(item)).count(),
    };
    let mut session = Session::new(id, FORMAT.id, source);
    session.model = value::string(root, "model");
    session.recorded = Some(recorded);
    let placed = items.map(|(record, item)| (record, format!("item {record}"), item));
    let mut out = SessionBuilder::read(session, responses::read(root, placed));
    out.compactions("replace", "auto");
    out.infer_finish();
    out.finish()
}
