//! What all writers share for parts that no record holds.

use super::value;
use foldback_core::log::{Media, Message, Part, PartKind, Role, ToolCall, ToolResult};
use serde_json::{Value, json};

/// The shape of tool definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolShape {
    /// `{type: "function", function: {name, description, parameters}}`.
    OpenAi,
    /// `{name, description, input_schema}`.
    Anthropic,
}

/// Tool definitions in a provider's shape; `None` if the recorded ones have no known shape.
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

/// The messages one by one, consecutive results as one run: providers want all results of an answer in one message. Each
/// run comes with its first message.
pub fn runs(messages: &[Message]) -> impl Iterator<Item = (&Message, &[Message])> {
    let together =
        |before: &Message, after: &Message| before.role == Role::Tool && after.role == Role::Tool;
    messages.chunk_by(together).filter_map(|run| Some((run.first()?, run)))
}

/// The results in these messages.
pub fn results(messages: &[Message]) -> impl Iterator<Item = &ToolResult> {
    messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_result)
}

/// The content of a result: its text, or for a result with files a list that begins with a block of the type `text`.
pub fn with_files(result: &ToolResult, text: &str, file: fn(&Media) -> Value) -> Value {
    if result.media.is_empty() {
        return result.text.as_str().into();
    }
    let said = !result.text.trim().is_empty();
    let text = said.then(|| json!({ "type": text, "text": result.text }));
    text.into_iter().chain(result.media.iter().map(file)).collect()
}

/// Arguments as an object, as providers want them. It is empty without arguments; anything but an object goes under `input`.
pub fn object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(object @ Value::Object(_)) => object,
        Ok(Value::Null) => json!({}),
        Ok(other) => json!({ "input": other }),
        Err(_) if arguments.trim().is_empty() => json!({}),
        Err(_) => json!({ "input": arguments }),
    }
}

/// Where the content of a file is.
pub enum FileContent<'a> {
    /// Here, in base64.
    Data(&'a str),
    /// At this URL.
    Link(&'a str),
    /// Out of reach: data that was cut, a path, or an id of the recorder's provider.
    Nowhere,
}

/// Where the content of a file is.
pub fn held(media: &Media) -> FileContent<'_> {
    match value::base64_data(&media.url) {
        Some(data) => FileContent::Data(data),
        None if media.url.contains("://") => FileContent::Link(&media.url),
        None => FileContent::Nowhere,
    }
}

/// The type of a PDF.
pub const PDF: &str = "application/pdf";

/// How files of a type begin, in base64.
const BEGINNINGS: [(&str, &str); 5] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi0", PDF),
];

/// The type of a file: as recorded, else by its content.
pub fn mime_of(media: &Media) -> &str {
    let said = matches!(&*media.mime, "" | "image/*" | "application/octet-stream");
    let found = match held(media) {
        FileContent::Data(data) if said => {
            BEGINNINGS.iter().find(|(begins, _)| data.starts_with(begins)).map(|(_, mime)| *mime)
        }
        _ => None,
    };
    found.unwrap_or(&media.mime)
}

/// Data in base64 as a URL.
pub fn data_url(mime: &str, data: &str) -> String {
    format!("data:{mime};base64,{data}")
}

/// A call as an entry of `tool_calls`.
pub fn stored_call(call: &ToolCall) -> Value {
    json!({
        "id": call.call_id,
        "type": "function",
        "function": { "name": call.tool, "arguments": arguments(call) },
    })
}

/// The arguments of a call as text; `{}` if it has none.
pub fn arguments(call: &ToolCall) -> &str {
    if call.arguments.trim().is_empty() { "{}" } else { &call.arguments }
}

/// A file that the format has no place for, as text.
pub fn name_of(media: &Media) -> String {
    format!("[{}: {}]", media.mime, media.name.as_deref().unwrap_or_default())
}

/// A part that the format has no place for, as text. Unknown parts are quoted as they were recorded.
pub fn text_of(part: &Part) -> String {
    match &part.kind {
        PartKind::Unknown { raw, .. } => value::shown(raw),
        PartKind::File(media) => name_of(media),
        _ => part.shown().into_owned(),
    }
}
