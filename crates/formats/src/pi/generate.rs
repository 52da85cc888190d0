//! Entries that are written anew: for sessions of other formats, and for what a strategy put in.

use crate::prelude::*;
use crate::time::format_rfc3339;

/// What stands in every entry besides its content.
pub(super) struct Envelope {
    /// Own id and the parent's, in files that have ids.
    pub link: Option<(String, Option<String>)>,
    /// RFC 3339.
    pub timestamp: String,
}

impl Envelope {
    fn entry(&self, kind: &str) -> Map<String, Value> {
        let mut entry = Map::new();
        entry.insert("type".to_owned(), kind.into());
        if let Some((id, parent)) = &self.link {
            entry.insert("id".to_owned(), id.as_str().into());
            entry.insert("parentId".to_owned(), json!(parent));
        }
        entry.insert("timestamp".to_owned(), self.timestamp.as_str().into());
        entry
    }

    /// An entry that holds a message.
    pub(super) fn message(&self, message: Value) -> Value {
        let mut entry = self.entry("message");
        entry.insert("message".to_owned(), message);
        Value::Object(entry)
    }

    /// A compaction; `first_kept` names the entry behind it as the file's version does.
    pub(super) fn compaction(&self, summary: &str, first_kept: (&str, Value)) -> Value {
        let mut entry = self.entry("compaction");
        entry.insert("summary".to_owned(), summary.into());
        entry.insert(first_kept.0.to_owned(), first_kept.1);
        entry.insert("tokensBefore".to_owned(), 0.into());
        Value::Object(entry)
    }
}

/// The timestamp of an entry; the epoch where none was recorded.
pub(super) fn timestamp(message: &Message) -> String {
    format_rfc3339(message.at.unwrap_or(0))
}

/// A user message of one text.
pub(super) fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
}

/// A message as pi stores it; what has no place goes to `losses`.
pub(super) fn message(message: &Message, losses: &mut Vec<String>) -> Value {
    let mut out = match message.role {
        Role::Assistant => answer(message, losses),
        Role::Tool => result(message),
        Role::User | Role::System => {
            if message.role == Role::System {
                losses
                    .push("a system message in the conversation became a user message".to_owned());
            }
            json!({ "role": "user", "content": blocks(message, losses) })
        }
    };
    if let Some(at) = message.at {
        out["timestamp"] = at.into();
    }
    out
}

fn answer(message: &Message, losses: &mut Vec<String>) -> Value {
    let answer: Answer = message.answer.clone().unwrap_or_default();
    let usage: Usage = answer.usage.unwrap_or_default();
    let output = usage.output + usage.reasoning;
    let stop = match answer.finish {
        Some(Finish::ToolCalls) => "toolUse",
        Some(Finish::Length) => "length",
        Some(Finish::Error | Finish::ContentFilter) => "error",
        Some(Finish::Stop | Finish::Other) | None => "stop",
    };
    let mut out = json!({
        "role": "assistant",
        "content": blocks(message, losses),
        "api": "unknown",
        "provider": answer.provider.as_deref().unwrap_or("unknown"),
        "model": answer.model.as_deref().unwrap_or("unknown"),
        "usage": {
            "input": usage.uncached,
            "output": output,
            "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write,
            "totalTokens": usage.input_total() + output,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
        },
        "stopReason": stop,
    });
    if let Some(error) = answer.error {
        out["errorMessage"] = error.into();
    }
    out
}

fn result(message: &Message) -> Value {
    let Some(result) = message.parts.iter().find_map(Part::as_result) else {
        return user(&message.shown_text());
    };
    let mut content = vec![json!({ "type": "text", "text": result.text })];
    content.extend(result.media.iter().map(image));
    json!({
        "role": "toolResult",
        "toolCallId": result.call_id,
        "toolName": result.tool,
        "content": content,
        "isError": matches!(result.status, ResultStatus::Error | ResultStatus::Retry),
    })
}

fn blocks(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    let mut blocks = Vec::new();
    for part in &message.parts {
        match &part.kind {
            PartKind::Text { ignored: true, .. } => {}
            PartKind::Text { text, .. } => blocks.push(json!({ "type": "text", "text": text })),
            PartKind::Reasoning { text, opaque } => {
                let mut block = json!({ "type": "thinking", "thinking": text });
                if let Some(signature) = opaque {
                    block["thinkingSignature"] = signature.as_str().into();
                }
                blocks.push(block);
            }
            PartKind::Call(call) => blocks.push(json!({
                "type": "toolCall",
                "id": call.call_id,
                "name": call.tool,
                "arguments": arguments(&call.arguments),
            })),
            PartKind::File(media) if media.mime.starts_with("image/") => blocks.push(image(media)),
            PartKind::Result(_) | PartKind::Marker(_) => {
                let text = part.shown();
                if !text.is_empty() {
                    blocks.push(json!({ "type": "text", "text": text }));
                }
            }
            PartKind::File(media) => losses.push(format!("a file of type {}", media.mime)),
            PartKind::Unknown { name, .. } => {
                losses.push(format!("a part of the unknown kind `{name}`"));
            }
        }
    }
    blocks
}

fn image(media: &Media) -> Value {
    let data = media
        .url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
        .map_or(media.url.as_str(), |(_, data)| data);
    json!({ "type": "image", "data": data, "mimeType": media.mime })
}

/// Arguments are an object; free text goes under `input`.
fn arguments(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ => json!({ "input": text }),
    }
}

/// The JSON text that stands for an edited part.
pub(super) fn edited(part: &Part, text: &str) -> Option<String> {
    let pointer = part.pointer.as_deref()?;
    match &part.kind {
        // A command that the user ran is told in a text that stands nowhere as such.
        PartKind::Text { .. } if pointer == "/message" => Some(user(text).to_string()),
        PartKind::Text { .. } | PartKind::Reasoning { .. } => Some(json_string(text)),
        PartKind::Call(_) => Some(arguments(text).to_string()),
        PartKind::Result(_) if pointer.ends_with("/text") => Some(json_string(text)),
        PartKind::Result(_) => Some(json!([{ "type": "text", "text": text }]).to_string()),
        PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => None,
    }
}
