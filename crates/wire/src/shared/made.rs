//! What writers make alike of parts that no record holds.

use super::value;
use foldback_core::log::{Media, Message, Part, PartKind, Role, ToolCall, ToolResult};
use serde_json::{Value, json};

/// Whose shape tool definitions are to be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolShape {
    /// `{type: "function", function: {name, description, parameters}}`.
    OpenAi,
    /// `{name, description, input_schema}`.
    Anthropic,
}

/// Tool definitions in a provider's shape; `None` where the recorded ones are in no known shape.
pub fn tools(recorded: &str, shape: ToolShape) -> Option<Value> {
    let converted = |tool: &Value| {
        let inner = tool.get("function").unwrap_or(tool);
        let name = value::text(inner, "name")?;
        let (own, key) = match shape {
            ToolShape::OpenAi => ("function", "parameters"),
            ToolShape::Anthropic => ("input_schema", "input_schema"),
        };
        if tool.get(own).is_some() {
            return Some(tool.clone());
        }
        let mut made = json!({"name": name});
        if let Some(description) = value::text(inner, "description") {
            made["description"] = description.into();
        }
        let schema = ["parameters", "input_schema"].iter().find_map(|key| inner.get(key));
        made[key] = schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
        Some(match shape {
            ToolShape::OpenAi => json!({"type": "function", "function": made}),
            ToolShape::Anthropic => made,
        })
    };
    let recorded: Value = serde_json::from_str(recorded).ok()?;
    recorded.as_array()?.iter().map(converted).collect::<Option<Vec<_>>>().map(Value::from)
}

/// The messages one by one, and results that follow each other together: providers want those that answer one
/// message in one. The first of each run stands beside it.
pub fn runs(messages: &[Message]) -> impl Iterator<Item = (&Message, &[Message])> {
    let together =
        |before: &Message, after: &Message| before.role == Role::Tool && after.role == Role::Tool;
    messages.chunk_by(together).filter_map(|run| Some((run.first()?, run)))
}

/// The results in these messages.
pub fn results(messages: &[Message]) -> impl Iterator<Item = &ToolResult> {
    messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_result)
}

/// The content of a result: its text, or where it came with files a list that begins with a block of this type.
pub fn with_files(result: &ToolResult, text: &str, file: fn(&Media) -> Value) -> Value {
    if result.media.is_empty() {
        return result.text.as_str().into();
    }
    let text = json!({ "type": text, "text": result.text });
    std::iter::once(text).chain(result.media.iter().map(file)).collect()
}

/// The arguments of a call as an object; what is none goes under `input`.
pub fn input_of(call: &ToolCall) -> Value {
    match call.arguments_value() {
        input @ Value::Object(_) => input,
        other => json!({ "input": other }),
    }
}

/// Arguments as an object; free text goes under `input`.
pub fn object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ => json!({ "input": arguments }),
    }
}

/// A file as a URL that holds its data where it has no other.
pub fn data_url(media: &Media) -> String {
    match media.url.contains(':') {
        true => media.url.clone(),
        false => format!("data:{};base64,{}", media.mime, media.url),
    }
}

/// The data of a file without the `data:` in front.
pub fn bare_data(media: &Media) -> &str {
    let data = media.url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    data.map_or(&media.url, |(_, data)| data)
}

/// A call as an entry of `tool_calls`.
pub fn stored_call(call: &ToolCall) -> Value {
    json!({
        "id": call.call_id,
        "type": "function",
        "function": { "name": call.tool, "arguments": call.arguments },
    })
}

/// A part that the format has no place for, as text: unknown parts as they were recorded.
pub fn text_of(part: &Part) -> String {
    match &part.kind {
        PartKind::Unknown { raw, .. } => value::shown(raw),
        PartKind::File(media) => {
            let name = media.name.as_deref().unwrap_or_default();
            format!("[{}: {name}]", media.mime)
        }
        _ => part.shown().into_owned(),
    }
}
