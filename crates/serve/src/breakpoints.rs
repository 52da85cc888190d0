//! The cache breakpoints of Anthropic's protocol, where their message was folded away.
//!
//! A client marks where the provider is to cache its request (`cache_control`). A message that is shown keeps its
//! mark, because it keeps its bytes. The mark of one that is not goes to the message before it: the last one that will
//! be the same in the next request.

use foldback_wire::shared::raw::{self, Change, RawError};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The member that marks a block.
const MARK: &str = "cache_control";

/// Where the messages stand.
const LIST: &str = "/messages";

/// `folded` with the marks of `original` whose messages it does not hold.
///
/// # Errors
///
/// One of them has no list of messages.
pub(crate) fn moved(original: &str, folded: String) -> Result<String, RawError> {
    if !original.contains(MARK) {
        return Ok(folded);
    }
    let before = messages(original)?;
    let after = messages(&folded)?;
    let places = places(&before, &after);
    let marks = |text: &str| marks(text).len();
    // Messages that hold marks and are not there as they were: gone, or edited. Of these the newest are edited, because
    // a fold begins at the oldest.
    let there = |record: usize| places.contains(&Some(record));
    let mut gone: Vec<usize> =
        (0..before.len()).filter(|record| !there(*record) && marks(before[*record]) > 0).collect();
    let edited = after.iter().zip(&places).filter(|(text, at)| at.is_none() && marks(text) > 0);
    gone.truncate(gone.len().saturating_sub(edited.count()));
    let mut changes: Vec<(String, Change)> = Vec::new();
    for record in gone {
        let newer = places.iter().position(|place| place.is_some_and(|place| place > record));
        let Some(target) = newer.unwrap_or(after.len()).checked_sub(1) else { continue };
        let mark = marks_of(before[record]);
        if marks(after[target]) == 0
            && let Some(change) = marked(after[target], target, mark)
            && !changes.iter().any(|(at, _)| *at == change.0)
        {
            changes.push(change);
        }
    }
    if changes.is_empty() {
        return Ok(folded);
    }
    raw::patch(&folded, &changes)
}

/// The texts of the messages.
fn messages(body: &str) -> Result<Vec<&str>, RawError> {
    let ranges = raw::elements(body, LIST)?;
    Ok(ranges.into_iter().filter_map(|range| body.get(range)).collect())
}

/// For each message after, which one before it is, where it is one byte for byte.
fn places(before: &[&str], after: &[&str]) -> Vec<Option<usize>> {
    let mut by_text: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, text) in before.iter().enumerate() {
        by_text.entry(text).or_default().push(index);
    }
    let mut from = 0;
    let mut place = |text: &&str| {
        let index = by_text.get(text)?.iter().copied().find(|index| *index >= from)?;
        from = index + 1;
        Some(index)
    };
    after.iter().map(&mut place).collect()
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
fn marks_of(text: &str) -> Value {
    marks(text).pop().unwrap_or_else(|| json!({"type": "ephemeral"}))
}

/// The change that marks a message; `None` where no block of it may have a mark.
fn marked(text: &str, index: usize, mark: Value) -> Option<(String, Change)> {
    let message = raw::parse(text).ok()?;
    let at = format!("{LIST}/{index}/content");
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

    fn body(messages: &[&str]) -> String {
        format!(r#"{{"messages": [{}]}}"#, messages.join(", "))
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
            assert_eq!(moved(&body(&before), body(&after)).unwrap(), body(&expected), "{name}");
        }
    }
}
