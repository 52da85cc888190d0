//! Lines that are written anew: for sessions of other formats, and for what a strategy put in.

use crate::bodies::{data_url, with_files};
use crate::prelude::*;

/// A line with its envelope.
pub(super) fn line(timestamp: &str, kind: &str, payload: Value) -> Value {
    json!({ "timestamp": timestamp, "type": kind, "payload": payload })
}

/// A message of one text.
pub(super) fn message(role: &str, text: &str) -> Value {
    let kind = match role {
        "assistant" => "output_text",
        _ => "input_text",
    };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

/// The response items of a message; what has no place goes to `losses`.
pub(crate) fn items(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    match message.role {
        Role::Assistant => answer(message, losses),
        Role::Tool => message
            .parts
            .iter()
            .filter_map(Part::as_result)
            .map(|result| {
                let output = with_files(result, "input_text", image);
                json!({ "type": "function_call_output", "call_id": result.call_id, "output": output })
            })
            .collect(),
        Role::User | Role::System => {
            let role = match message.role {
                Role::System => "developer",
                _ => "user",
            };
            let mut content = Vec::new();
            for part in &message.parts {
                match &part.kind {
                    PartKind::File(media) => content.push(image(media)),
                    PartKind::Unknown { name, .. } => losses.push(unknown(name)),
                    _ => content.push(json!({ "type": "input_text", "text": part.shown() })),
                }
            }
            vec![json!({ "type": "message", "role": role, "content": content })]
        }
    }
}

fn answer(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    let mut items = Vec::new();
    for part in &message.parts {
        match &part.kind {
            PartKind::Text { text, .. } => items.push(self::message("assistant", text)),
            PartKind::Reasoning { text, opaque } => {
                let summary = match text.is_empty() {
                    true => json!([]),
                    false => json!([{ "type": "summary_text", "text": text }]),
                };
                items.push(json!({
                    "type": "reasoning", "summary": summary, "encrypted_content": opaque,
                }));
            }
            PartKind::Call(call) => items.push(json!({
                "type": "function_call",
                "name": call.tool,
                "arguments": call.arguments,
                "call_id": call.call_id,
            })),
            PartKind::Unknown { name, raw } if name.ends_with("_call") => items.push(raw.clone()),
            PartKind::Unknown { name, .. } => losses.push(unknown(name)),
            PartKind::Marker(_) | PartKind::Result(_) => {
                items.push(self::message("assistant", &part.shown()));
            }
            PartKind::File(_) => losses.push("a file in an answer was left out".to_owned()),
        }
    }
    items
}

fn unknown(name: &str) -> String {
    format!("a part of the unknown kind `{name}` was left out")
}

fn image(media: &Media) -> Value {
    json!({ "type": "input_image", "image_url": data_url(media) })
}

/// The count that follows an answer, and the running total up to it.
pub(super) fn token_count(usage: &Usage, total: &Usage, window: u64) -> Value {
    let counts = |usage: &Usage| {
        json!({
            "input_tokens": usage.input_total(),
            "cached_input_tokens": usage.cache_read,
            "output_tokens": usage.output_total(),
            "reasoning_output_tokens": usage.reasoning,
            "total_tokens": usage.total_tokens(),
        })
    };
    json!({
        "type": "token_count",
        "info": {
            "total_token_usage": counts(total),
            "last_token_usage": counts(usage),
            "model_context_window": (window > 0).then_some(window),
        },
    })
}

/// The JSON text that stands for an edited part.
pub(crate) fn edited(part: &Part, text: &str) -> Option<String> {
    match &part.kind {
        PartKind::Text { .. } => Some(json_string(text)),
        PartKind::Reasoning { .. } => {
            Some(json!([{ "type": "summary_text", "text": text }]).to_string())
        }
        // A structured output (found tools) has no place for a text.
        PartKind::Result(result) => result.structured.is_none().then(|| json_string(text)),
        PartKind::Call(call) => match call.tool.as_str() {
            "tool_search" | "local_shell" => None,
            _ => Some(json_string(text)),
        },
        PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => None,
    }
}
