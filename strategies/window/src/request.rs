//! What the summarizer gets to read: the messages to be folded, each cut to a size. The cuts are for
//! the request alone and are never committed.

use foldback_core::log::{Message, PartKind};
use serde_json::Value;

/// What ends a text that was cut.
const ELLIPSIS: &str = "...";

/// Whether a message is within what [`cut`] allows, so that it stays unchanged.
pub fn fits(message: &Message, limit: usize, calls: bool) -> bool {
    let mut left = Some(limit);
    let mut takes = |text: &str| {
        left = left.and_then(|left| left.checked_sub(text.len()));
        left.is_some()
    };
    message.parts.iter().all(|part| match &part.kind {
        PartKind::Text { text, .. } => takes(text),
        PartKind::Result(result) => takes(&result.text),
        PartKind::Call(call) => calls && call.arguments.len() <= limit,
        PartKind::Reasoning { .. } => false,
        PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => true,
    })
}

/// Cuts the texts of a message, one after the other, to `limit` bytes in all; what goes over is
/// left out, and `...` says so. Parts without text stay, calls only if `calls` says so.
pub fn cut(mut message: Message, limit: usize, calls: bool) -> Message {
    let mut left = Some(limit);
    message.parts.retain_mut(|part| match &mut part.kind {
        PartKind::Text { text, .. } => keep(text, &mut left),
        PartKind::Result(result) => {
            let whole = result.text.len();
            keep(&mut result.text, &mut left);
            if result.text.len() != whole {
                result.structured = None;
            }
            true
        }
        PartKind::Call(call) => {
            call.arguments = cut_arguments(&call.arguments, limit);
            calls
        }
        // Only content is summarized; the original has no place for the rest.
        PartKind::Reasoning { .. } => false,
        PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => true,
    });
    message
}

/// Cuts a text to what is `left`, which is `None` after a text that was cut. Returns whether anything stays.
fn keep(text: &mut String, left: &mut Option<usize>) -> bool {
    let Some(bytes) = *left else {
        text.clear();
        return false;
    };
    *left = bytes.checked_sub(text.len());
    if left.is_none() {
        *text = shorten(text, bytes);
    }
    true
}

fn shorten(text: &str, bytes: usize) -> String {
    format!("{}{ELLIPSIS}", &text[..text.floor_char_boundary(bytes)])
}

/// Cuts the strings inside arguments, so that they stay JSON and paths in them stay whole.
fn cut_arguments(arguments: &str, limit: usize) -> String {
    if arguments.len() <= limit {
        return arguments.to_owned();
    }
    match serde_json::from_str::<Value>(arguments) {
        Ok(mut value) => {
            cut_strings(&mut value, limit);
            value.to_string()
        }
        Err(_) => shorten(arguments, limit),
    }
}

fn cut_strings(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) if text.len() > limit => *text = shorten(text, limit),
        Value::Array(items) => items.iter_mut().for_each(|item| cut_strings(item, limit)),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| cut_strings(field, limit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::Part;

    #[test]
    fn what_fits_is_what_a_cut_leaves_alone() {
        let call = || Part::call("c", "read", "12345678");
        let reasoning = Part::new(PartKind::Reasoning { text: String::new(), opaque: None });
        let table = [
            ("at the limit", vec![Part::text("12345678")], true),
            ("over it", vec![Part::text("123456789")], false),
            ("together at it", vec![Part::text("1234"), Part::text("5678")], true),
            ("together over it", vec![Part::text("1234"), Part::text("56789")], false),
            ("a result over it", vec![Part::result("c", "read", "123456789")], false),
            ("a call at it, apart from the text", vec![Part::text("12345678"), call()], true),
            ("a call over it", vec![Part::call("c", "read", "a23456789")], false),
            ("reasoning", vec![reasoning], false),
        ];
        for (case, parts, expected) in table {
            let message = Message::assistant("m", parts);
            assert_eq!(fits(&message, 8, true), expected, "{case}");
            assert_eq!(cut(message.clone(), 8, true) == message, expected, "{case}");
        }
        let called = Message::assistant("m", vec![call()]);
        assert!(!fits(&called, 8, false), "calls are left out");
    }

    #[test]
    fn arguments_stay_json_where_they_were() {
        let table = [
            (r#"{"a":"12345678"}"#, r#"{"a":"12345678"}"#),
            (r#"{"a":"123456789"}"#, r#"{"a":"12345678..."}"#),
            (r#"{"a":["123456789",1]}"#, r#"{"a":["12345678...",1]}"#),
            (r#"{"a":{"b":"123456789"}}"#, r#"{"a":{"b":"12345678..."}}"#),
            ("not JSON: 1", "not JSON..."),
        ];
        for (given, expected) in table {
            assert_eq!(cut_arguments(given, 8), expected, "{given}");
        }
    }

    /// Structured content repeats the text, so it is removed if the text is cut.
    #[test]
    fn a_result_that_is_cut_is_no_longer_structured() {
        for (text, stays) in [("12345678", true), ("123456789", false)] {
            let mut result = Part::result("c", "read", text);
            if let PartKind::Result(result) = &mut result.kind {
                result.structured = Some(Value::from(1));
            }
            let cut = cut(Message::assistant("m", vec![result]), 8, true);
            let structured = cut.parts[0].as_result().map(|result| result.structured.is_some());
            assert_eq!(structured, Some(stays), "{text}");
        }
    }
}
