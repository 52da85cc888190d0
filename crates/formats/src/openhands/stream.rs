//! The sessions of a file, each with its events in order.

use super::LISTS;
use crate::pieces;
use crate::prelude::*;

/// An event and its place in the file.
pub(super) struct Event {
    pub record: u32,
    /// JSON pointer from the record to the event: the first benchmark outputs keep pairs.
    pub prefix: String,
    pub value: Value,
}

/// The events of one session.
pub(super) struct Stream {
    pub source: Source,
    pub events: Vec<Event>,
    /// What the file says about the session besides its events.
    pub meta: Value,
    pub warnings: Vec<Warning>,
}

/// Divides a file into sessions.
///
/// # Errors
///
/// [`ReadError::Malformed`] if the text holds neither events nor instances.
pub(super) fn streams(text: &str) -> Result<Vec<Stream>, ReadError> {
    match value::document(text) {
        Ok(root) if value::text(&root, "kind").is_none() => {
            let many = root
                .as_array()
                .and_then(|items| items.first())
                .is_some_and(|first| list_of(first).is_some_and(|list| !list.is_empty()));
            if !many {
                return document(text, root).map(|stream| vec![stream]);
            }
            let ranges = value::elements(text, "")?;
            ranges
                .into_iter()
                .map(|range| document(&text[range.clone()], value::document(&text[range])?))
                .collect()
        }
        whole => lines(text).map_or_else(|| Err(unfit(whole)), Ok),
    }
}

fn unfit(whole: Result<Value, ReadError>) -> ReadError {
    whole
        .err()
        .unwrap_or_else(|| value::malformed("", "a list of events is needed here, or in `history`"))
}

/// The pointer to the list of events.
fn list_of(root: &Value) -> Option<&'static str> {
    if root.is_array() {
        return Some("");
    }
    LISTS.iter().copied().find(|list| root.pointer(list).is_some_and(Value::is_array))
}

/// A document with one list of events.
fn document(text: &str, mut root: Value) -> Result<Stream, ReadError> {
    let list = list_of(&root).ok_or_else(|| unfit(Ok(Value::Null)))?;
    let records = value::elements(text, list)?;
    let stored = root.pointer_mut(list).map(Value::take);
    let Some(Value::Array(stored)) = stored else {
        return Err(unfit(Ok(Value::Null)));
    };
    let mut events = Vec::new();
    for (record, value) in (0u32..).zip(stored) {
        match value {
            Value::Array(pair) => {
                for (index, value) in pair.into_iter().enumerate() {
                    let prefix = format!("/{index}");
                    events.push(Event { record, prefix, value });
                }
            }
            value => events.push(Event { record, prefix: String::new(), value }),
        }
    }
    Ok(Stream {
        source: Source { text: text.into(), shape: Shape::Document, records: records.into() },
        events,
        meta: root,
        warnings: Vec::new(),
    })
}

/// A file with one instance, or one event, a line.
fn lines(text: &str) -> Option<Vec<Stream>> {
    let source = Source::lines(text);
    let mut warnings = Vec::new();
    let mut streams = Vec::new();
    let mut events = Vec::new();
    for (record, value) in jsonl::values_once(&source, |_| true) {
        match value {
            Ok(value) if list_of(&value).is_some_and(|list| !list.is_empty()) => {
                streams.extend(document(source.record(record)?, value).ok());
            }
            Ok(value) if value.is_object() => {
                events.push(Event { record, prefix: String::new(), value })
            }
            Ok(other) => {
                // Where files were joined, a text tells which of them could not be.
                let what = other.as_str().filter(|what| pieces::is_told(what));
                let what = what.unwrap_or("neither an event nor an instance");
                let detail = format!("{what}; skipped");
                warnings.push(Warning::new("damaged-line", source.place(record), detail));
            }
            Err(warning) => warnings.push(warning),
        }
    }
    let is_event = |event: &Event| event.value.get("source").is_some();
    if streams.is_empty() && events.iter().any(is_event) {
        streams.push(Stream { source, events, meta: Value::Null, warnings: Vec::new() });
    }
    streams.first_mut()?.warnings = warnings;
    Some(streams)
}
