//! The text of a part as identifiers are looked for in it.

use foldback_core::log::{Part, PartKind};
use serde_json::Value;
use std::borrow::Cow;

/// What a part shows; JSON arguments without their syntax and their field names, one value a line. `name` is told
/// the names of the fields.
pub(crate) fn text_of<'a>(part: &'a Part, name: &mut dyn FnMut(&str)) -> Cow<'a, str> {
    let PartKind::Call(call) = &part.kind else {
        return part.shown();
    };
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(value) => {
            let mut out = String::with_capacity(call.arguments.len());
            leaves(&value, &mut out, name);
            Cow::Owned(out)
        }
        Err(_) => Cow::Borrowed(&call.arguments),
    }
}

fn leaves(value: &Value, out: &mut String, name: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Number(number) => {
            out.push_str(&number.to_string());
            out.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| leaves(value, out, name)),
        Value::Object(fields) => {
            for (field, value) in fields {
                name(field);
                leaves(value, out, name);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}
