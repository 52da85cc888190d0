//! The cache breakpoints of Anthropic's protocol, where their message was folded away.
//!
//! A client marks where the provider is to cache its request (`cache_control`). A message that is shown keeps its
//! mark, because it keeps its bytes. The mark of one that is not goes to the message before it: the last one that will
//! be the same in the next request.

use foldback_wire::shared::raw::{self, Change, RawError};
use foldback_wire::{Item, Request};
use memchr::memmem;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The member that marks a block.
const MARK: &str = "cache_control";

/// [`MARK`] as it stands in JSON; inside a text its quotes are escaped.
const MEMBER: &str = "\"cache_control\"";

/// Moves the marks of a request whose messages are not in the list that is to be sent.
///
/// # Errors
///
/// A message is not as it was when it was read.
pub(crate) fn moved(request: &Request, list: &mut [Item]) -> Result<(), RawError> {
    let before = marked_records(request);
    if before.is_empty() {
        return Ok(());
    }
    let has_mark = |item: &Item| match item {
        Item::Keep(record) => before.contains_key(record),
        Item::Changed(_, text) => text.contains(MARK),
        Item::New(_) => false,
    };
    let record = |item: &Item| match item {
        Item::Keep(record) | Item::Changed(record, _) => Some(*record),
        Item::New(_) => None,
    };
    let there: Vec<u32> = list.iter().filter(|item| has_mark(item)).filter_map(record).collect();
    for (gone, text) in before.iter().filter(|(record, _)| !there.contains(record)) {
        let newer = list.iter().position(|item| record(item).is_some_and(|other| other > *gone));
        let Some(target) = newer.unwrap_or(list.len()).checked_sub(1) else { continue };
        let target = &mut list[target];
        let shown = match &*target {
            Item::Keep(record) => request.record(*record).unwrap_or_default().to_owned(),
            Item::Changed(_, text) => text.clone(),
            Item::New(value) => value.to_string(),
        };
        if shown.contains(MARK) {
            continue;
        }
        let Some(change) = marked(&shown, mark_of(text)) else { continue };
        let shown = raw::patch(&shown, &[change])?;
        *target = match record(target) {
            Some(record) => Item::Changed(record, shown),
            None => Item::New(raw::parse(&shown).unwrap_or_default()),
        };
    }
    Ok(())
}

/// Whether the client asks Anthropic to keep what it caches for an hour: by the newest mark in a message, or the last one
/// before the messages where none of them has one.
pub(crate) fn for_an_hour(request: &Request) -> bool {
    let body = request.body();
    let marks = memmem::find_iter(body.as_bytes(), MEMBER).filter_map(|at| {
        let value = body.get(at + MEMBER.len()..)?.trim_start().strip_prefix(':')?;
        let mark: Value = serde_json::Deserializer::from_str(value).into_iter().next()?.ok()?;
        mark.is_object().then(|| (request.record_at(at).is_some(), mark))
    });
    let newest = marks.max_by_key(|(in_message, _)| *in_message);
    newest.is_some_and(|(_, mark)| mark["ttl"] == "1h")
}

/// The records that hold marks, with their texts.
fn marked_records(request: &Request) -> BTreeMap<u32, &str> {
    // In one pass over the body: a request has few marks and many messages.
    let places = memmem::find_iter(request.body().as_bytes(), MARK);
    let records: BTreeSet<u32> = places.filter_map(|at| request.record_at(at)).collect();
    let texts = records.iter().filter_map(|record| Some((*record, request.record(*record)?)));
    texts.filter(|(_, text)| !marks(text).is_empty()).collect()
}

/// The marks in a message, in order.
fn marks(text: &str) -> Vec<Value> {
    if !text.contains(MARK) {
        return Vec::new();
    }
    let message = raw::parse(text).unwrap_or_default();
    let blocks = message["content"].as_array().into_iter().flatten();
    let inner = |block: &Value| block["content"].as_array().cloned().unwrap_or_default();
    blocks
        .flat_map(|block| std::iter::once(block.clone()).chain(inner(block)))
        .filter_map(|block| block.get(MARK).filter(|mark| !mark.is_null()).cloned())
        .collect()
}

/// The last mark in a message.
fn mark_of(text: &str) -> Value {
    marks(text).pop().unwrap_or_else(|| json!({"type": "ephemeral"}))
}

/// The change that marks a message; `None` where no block of it may have a mark.
fn marked(text: &str, mark: Value) -> Option<(String, Change)> {
    let message = raw::parse(text).ok()?;
    let at = "/content".to_owned();
    match &message["content"] {
        Value::String(text) if !text.is_empty() => {
            let block = json!([{"type": "text", "text": text, MARK: mark}]);
            Some((at, Change::Set(block.to_string())))
        }
        Value::Array(blocks) => {
            let may = |block: &Value| match block["type"].as_str() {
                Some("thinking" | "redacted_thinking") => false,
                Some("text") => block["text"].as_str().is_some_and(|text| !text.is_empty()),
                _ => true,
            };
            let block = blocks.iter().rposition(may)?;
            Some((format!("{at}/{block}/{MARK}"), Change::Set(mark.to_string())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_wire::Dialect;

    fn body(messages: &[&str]) -> String {
        format!(r#"{{"messages": [{}]}}"#, messages.join(","))
    }

    /// What is shown as items: those that were sent so, what was cut of the second, and what is new.
    fn items(before: &[&str], after: &[&str], cut: &str) -> Vec<Item> {
        let item = |text: &&str| match before.iter().position(|before| before == text) {
            Some(record) => Item::Keep(record.try_into().unwrap()),
            None if *text == cut => Item::Changed(1, cut.to_owned()),
            None => Item::New(raw::parse(text).unwrap()),
        };
        after.iter().map(item).collect()
    }

    #[test]
    fn a_mark_goes_to_the_last_message_before_its_own() {
        let plain = |name: &str| format!(r#"{{"role":"user","content":"{name}"}}"#);
        let marked = |name: &str| {
            format!(
                r#"{{"role":"user","content":[{{"type":"text","text":"{name}","cache_control":{{"type":"ephemeral"}}}}]}}"#
            )
        };
        let cut = r#"{"role":"user","content":[{"type":"tool_result","content":"cut","cache_control":{"type":"ephemeral"}}]}"#;
        let thought = r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"thinking","thinking":"h"}]}"#;
        let thought_marked = r#"{"role":"assistant","content":[{"type":"text","text":"t","cache_control":{"type":"ephemeral"}},{"type":"thinking","thinking":"h"}]}"#;
        let (a, b, c, s) = (plain("a"), plain("b"), plain("c"), plain("s"));
        let (am, bm, cm, sm) = (marked("a"), marked("b"), marked("c"), marked("s"));
        // What the client sent, what the view shows, and what becomes of it.
        type Row<'a> = (&'a str, Vec<&'a str>, Vec<&'a str>, Vec<&'a str>);
        let rows: [Row<'_>; 8] = [
            ("no marks", vec![&a, &b], vec![&s, &b], vec![&s, &b]),
            ("all there", vec![&am, &b, &cm], vec![&am, &cm], vec![&am, &cm]),
            ("one gone", vec![&am, &b, &cm], vec![&s, &b, &cm], vec![&sm, &b, &cm]),
            ("in the middle", vec![&a, &bm, &c], vec![&a, &c], vec![&am, &c]),
            ("nothing before", vec![&am, &b], vec![&b], vec![&b]),
            ("two to one place", vec![&am, &bm, &c], vec![&s, &c], vec![&sm, &c]),
            ("edited, not gone", vec![&a, &bm], vec![&a, cut], vec![&a, cut]),
            (
                "not on thoughts",
                vec![thought, &bm, &c],
                vec![thought, &c],
                vec![thought_marked, &c],
            ),
        ];
        for (name, before, after, expected) in rows {
            let request = Request::parse(Dialect::Anthropic, body(&before)).unwrap();
            let mut list = items(&before, &after, cut);
            moved(&request, &mut list).unwrap();
            assert_eq!(request.with_list(&list), body(&expected), "{name}");
        }
    }

    #[test]
    fn the_newest_mark_says_how_long_the_cache_is_to_live() {
        let message = |mark: &str| {
            format!(
                r#""messages":[{{"role":"user","content":[{{"type":"text","text":"a"{mark}}}]}}]"#
            )
        };
        let (hour, five) = (
            r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
            r#","cache_control": {"type":"ephemeral"}"#,
        );
        let system = |mark: &str| format!(r#""system":[{{"type":"text","text":"s"{mark}}}]"#);
        let tool = r#""messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"t","input":{"ttl":"1h"}}]}]"#;
        let said = r#""messages":[{"role":"user","content":"\"cache_control\":{\"ttl\":\"1h\"}"}]"#;
        let rows = [
            ("no mark", message(""), false),
            ("an hour", message(hour), true),
            ("five minutes", message(five), false),
            ("none", message(r#","cache_control":null"#), false),
            ("of the system prompt", format!("{},{}", system(hour), message("")), true),
            ("the message counts", format!("{},{}", system(hour), message(five)), false),
            ("wherever it stands", format!("{},{}", message(five), system(hour)), false),
            ("of the request", format!(r#"{}{hour}"#, message("")), true),
            ("an argument", tool.to_owned(), false),
            ("a text", said.to_owned(), false),
        ];
        for (name, members, expected) in rows {
            let request = Request::parse(Dialect::Anthropic, format!("{{{members}}}")).unwrap();
            assert_eq!(for_an_hour(&request), expected, "{name}");
        }
    }
}
