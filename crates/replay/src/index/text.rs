//! The text of a part as identifiers are looked for in it.

use foldback_core::log::{Part, PartKind};
use serde_json::Value;
use std::borrow::Cow;

/// What a part shows; JSON arguments without their syntax and their field names, one value a line.
pub(crate) fn text_of(part: &Part) -> Cow<'_, str> {
    let PartKind::Call(call) = &part.kind else {
        return part.shown();
    };
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(value) => {
            let mut out = String::with_capacity(call.arguments.len());
            leaves(&value, &mut out);
            Cow::Owned(out)
        }
        Err(_) => Cow::Borrowed(&call.arguments),
    }
}

fn leaves(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Number(number) => {
            out.push_str(&number.to_string());
            out.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| leaves(value, out)),
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, out)),
        Value::Null | Value::Bool(_) => {}
    }
}
