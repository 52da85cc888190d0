//! Messages with content blocks made from canonical ones.

use super::is_server_block;
use crate::bodies::{ToolShape, text_of, tools};
use crate::value;
use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, Role, ToolResult};
use foldback_core::{Frame, SegmentKind};
use serde_json::{Map, Value, json};

/// A request body: model, system prompt, messages (one a line) and tools.
pub(super) fn document(
    frame: &Frame,
    model: Option<&str>,
    sent: &[Message],
    losses: &mut Vec<String>,
) -> String {
    let mut out = String::from("{");
    if let Some(model) = model {
        out.push_str(&format!("\"model\":{},\n", Value::from(model)));
    }
    let system: Vec<Value> = frame
        .segments
        .iter()
        .filter(|segment| segment.kind == SegmentKind::System && !segment.text.is_empty())
        .map(|segment| json!({"type": "text", "text": segment.text}))
        .collect();
    if !system.is_empty() {
        out.push_str(&format!("\"system\":{},\n", Value::from(system)));
    }
    let lines: Vec<String> = records(sent, losses).iter().map(Value::to_string).collect();
    out.push_str(&format!("\"messages\":[\n{}\n]", lines.join(",\n")));
    if let Some(recorded) = frame.text_of(SegmentKind::Tools) {
        match tools(recorded, ToolShape::Anthropic) {
            Some(tools) => out.push_str(&format!(",\n\"tools\":{tools}")),
            None => losses.push("the tool definitions: they are in no known shape".to_owned()),
        }
    }
    out.push_str("}\n");
    out
}

/// Messages of a run of canonical ones: the results that follow an answer are one user message,
/// because the API wants them together.
pub(super) fn records(messages: &[Message], losses: &mut Vec<String>) -> Vec<Value> {
    let mut out = Vec::new();
    let (mut unsigned, mut systems) = (0, 0);
    let mut rest = messages;
    while let Some(message) = rest.first() {
        let mut used = 1;
        out.push(match message.role {
            Role::Tool => {
                used = rest.iter().take_while(|message| message.role == Role::Tool).count();
                let results = rest[..used].iter().flat_map(|message| &message.parts);
                let blocks: Vec<Value> = results.filter_map(Part::as_result).map(result).collect();
                json!({"role": "user", "content": blocks})
            }
            Role::User | Role::System => {
                systems += usize::from(message.role == Role::System);
                json!({"role": "user", "content": user_content(message)})
            }
            Role::Assistant => {
                let reasoning = message.parts.iter().filter(|part| is_unsigned(part));
                unsigned += reasoning.count();
                let blocks: Vec<Value> = message
                    .parts
                    .iter()
                    .filter(|part| !is_unsigned(part))
                    .filter_map(block)
                    .collect();
                json!({"role": "assistant", "content": blocks})
            }
        });
        rest = &rest[used..];
    }
    if unsigned > 0 {
        losses.push(format!(
            "{unsigned} reasoning parts without a signature, which the API would refuse"
        ));
    }
    if systems > 0 {
        losses.push(format!(
            "{systems} system messages within the conversation became user messages"
        ));
    }
    out
}

fn is_unsigned(part: &Part) -> bool {
    matches!(&part.kind, PartKind::Reasoning { opaque: None, .. })
}

fn user_content(message: &Message) -> Value {
    match message.parts.as_slice() {
        [part] if !matches!(part.kind, PartKind::File(_) | PartKind::Unknown { .. }) => {
            Value::from(part.shown().into_owned())
        }
        parts => parts.iter().filter_map(block).collect(),
    }
}

/// A content block; none for a text without content, which the API refuses.
fn block(part: &Part) -> Option<Value> {
    Some(match &part.kind {
        PartKind::Reasoning { text, opaque } if text.is_empty() => {
            json!({"type": "redacted_thinking", "data": opaque})
        }
        PartKind::Reasoning { text, opaque } => {
            json!({"type": "thinking", "thinking": text, "signature": opaque})
        }
        PartKind::Call(call) => json!({
            "type": "tool_use",
            "id": call.call_id,
            "name": call.tool,
            "input": input(&call.arguments),
        }),
        PartKind::Result(found) => result(found),
        PartKind::File(media) => file(media),
        // A block that this format named itself goes back as it came.
        PartKind::Unknown { raw, name } if name == "compaction" || is_server_block(name) => {
            raw.clone()
        }
        _ => {
            let text = text_of(part);
            if text.is_empty() {
                return None;
            }
            json!({"type": "text", "text": text})
        }
    })
}

/// Arguments as the object that the API wants; free text goes under `input`.
pub(super) fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(input)) => Value::Object(input),
        _ => json!({"input": arguments}),
    }
}

fn result(result: &ToolResult) -> Value {
    let mut out = Map::new();
    out.insert("type".to_owned(), "tool_result".into());
    out.insert("tool_use_id".to_owned(), result.call_id.as_str().into());
    let content = if result.media.is_empty() {
        Value::from(result.text.as_str())
    } else {
        let mut blocks = vec![json!({"type": "text", "text": result.text})];
        blocks.extend(result.media.iter().map(file));
        Value::from(blocks)
    };
    out.insert("content".to_owned(), content);
    if result.status != ResultStatus::Completed {
        out.insert("is_error".to_owned(), true.into());
    }
    Value::Object(out)
}

/// A file as a block. What is neither data that decodes nor a URL becomes a line of text.
fn file(media: &Media) -> Value {
    let source = if let Some(data) = value::base64_data(&media.url) {
        json!({"type": "base64", "media_type": media.mime, "data": data})
    } else if media.url.contains("://") {
        json!({"type": "url", "url": media.url})
    } else {
        return json!({"type": "text", "text": text_of(&Part::new(PartKind::File(media.clone())))});
    };
    let kind = if media.mime.starts_with("image/") { "image" } else { "document" };
    let mut out = json!({"type": kind, "source": source});
    if let (Some(name), "document") = (&media.name, kind) {
        out["title"] = name.as_str().into();
    }
    out
}
