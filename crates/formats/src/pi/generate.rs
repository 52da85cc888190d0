//! Newly written entries: for sessions of other formats, and for what a strategy added.

use crate::bodies::{FileContent, held, mime_of, object};
use crate::prelude::*;

/// The members that every entry has besides its content.
pub(super) struct Envelope {
    /// Own id and the parent's, in files that have ids.
    pub link: Option<(String, Option<String>)>,
    /// RFC 3339.
    pub timestamp: String,
}

impl Envelope {
    fn entry(&self, kind: &str) -> Value {
        let mut entry = json!({ "type": kind });
        if let Some((id, parent)) = &self.link {
            entry["id"] = json!(id);
            entry["parentId"] = json!(parent);
        }
        entry["timestamp"] = json!(self.timestamp);
        entry
    }

    /// An entry that holds a message.
    pub(super) fn message(&self, message: Value) -> Value {
        let mut entry = self.entry("message");
        entry["message"] = message;
        entry
    }

    /// A compaction; `first_kept` names the entry after it as the file's version does.
    pub(super) fn compaction(&self, summary: &str, first_kept: (&str, Value)) -> Value {
        let mut entry = self.entry("compaction");
        entry["summary"] = summary.into();
        entry[first_kept.0] = first_kept.1;
        entry["tokensBefore"] = 0.into();
        entry
    }
}

/// A user message of one text.
pub(super) fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
}

/// A message as pi stores it; what has no place goes to `losses`.
pub(super) fn message(message: &Message, losses: &mut Vec<String>) -> Value {
    let mut out = match message.role {
        Role::Assistant => answer(message, losses),
        Role::Tool => result(message, losses),
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
    let output = usage.output_total();
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
    for (name, count) in [("cacheWrite1h", usage.cache_write_1h), ("reasoning", usage.reasoning)] {
        if count > 0 {
            out["usage"][name] = count.into();
        }
    }
    if let Some(error) = answer.error {
        out["errorMessage"] = error.into();
    }
    out
}

fn result(message: &Message, losses: &mut Vec<String>) -> Value {
    let Some(result) = message.parts.iter().find_map(Part::as_result) else {
        return user(&message.shown_text());
    };
    let mut content = vec![json!({ "type": "text", "text": result.text })];
    content.extend(result.media.iter().filter_map(|media| image(media, losses)));
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
                let shown = if part.redacted { "[Reasoning redacted]" } else { text };
                let mut block = json!({ "type": "thinking", "thinking": shown });
                if part.redacted {
                    block["redacted"] = true.into();
                }
                if let Some(signature) = opaque {
                    block["thinkingSignature"] = signature.as_str().into();
                }
                blocks.push(block);
            }
            PartKind::Call(call) => blocks.push(json!({
                "type": "toolCall",
                "id": call.call_id,
                "name": call.tool,
                "arguments": object(&call.arguments),
            })),
            PartKind::File(media) => blocks.extend(image(media, losses)),
            PartKind::Result(_) | PartKind::Marker(_) => {
                let text = part.shown();
                if !text.is_empty() {
                    blocks.push(json!({ "type": "text", "text": text }));
                }
            }
            PartKind::Unknown { name, .. } => {
                losses.push(format!("a part of the unknown kind `{name}`"));
            }
        }
    }
    blocks
}

/// An image by its data; pi has no other files.
fn image(media: &Media, losses: &mut Vec<String>) -> Option<Value> {
    let mime = mime_of(media);
    match held(media) {
        FileContent::Data(data) if mime.starts_with("image/") => {
            Some(json!({ "type": "image", "data": data, "mimeType": mime }))
        }
        _ => {
            losses.push(format!("a file of type {mime}"));
            None
        }
    }
}

/// The JSON text that replaces an edited part.
pub(super) fn edited(part: &Part, text: &str) -> Option<String> {
    let pointer = part.pointer.as_deref()?;
    match &part.kind {
        // A command that the user ran and changed sections of the prompt are told in texts that stand nowhere as such.
        PartKind::Text { .. } if pointer == "/message" => Some(user(text).to_string()),
        // A signature says nothing that could be put in other words.
        PartKind::Reasoning { .. } if pointer.ends_with("Signature") => None,
        PartKind::Text { .. } | PartKind::Reasoning { .. } => Some(json_string(text)),
        PartKind::Call(_) => Some(object(text).to_string()),
        PartKind::Result(_) if pointer.ends_with("/text") => Some(json_string(text)),
        PartKind::Result(_) => Some(json!([{ "type": "text", "text": text }]).to_string()),
        PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => None,
    }
}
