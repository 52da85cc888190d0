//! Writes messages as the protocol has them.

use super::read::is_file;
use super::{COMPACTION, is_server_block};
use crate::wire::shared::made::{
    FileContent, PDF, held, mime_of, name_of, object, results, runs, text_of, with_files,
};
use crate::wire::shared::raw::json_string;
use crate::wire::shared::rewrite::Dialect;
use crate::wire::shared::source::Parsed;
use crate::wire::shared::value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, Role, ToolResult};
use foldback_core::view::{EditKind, PartEdit, PartPos};
use serde_json::{Value, json};

/// Writes messages over a list.
pub struct Writer<'a> {
    /// The records of the messages.
    pub parsed: Parsed<'a>,
    /// What the protocol has no place for, one line each.
    pub losses: &'a mut Vec<String>,
}

impl Dialect for Writer<'_> {
    fn edited(&self, at: PartPos, part: &Part, pointer: &str, edit: &PartEdit) -> Option<String> {
        Some(match &part.kind {
            PartKind::Call(_) => object(&edit.text).to_string(),
            PartKind::Result(result)
                if edit.kind == EditKind::Truncate && !result.media.is_empty() =>
            {
                self.with_files(at, pointer, &edit.text).to_string()
            }
            _ => json_string(&edit.text),
        })
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        records(messages, self.losses)
    }
}

impl Writer<'_> {
    /// The content of a tool result with its text cut and its files kept.
    fn with_files(&self, at: PartPos, pointer: &str, text: &str) -> Value {
        let record = self.parsed.record_of(at.item).unwrap_or_default();
        let mut out = Vec::from_iter(text_block(text));
        let blocks = value::list_at(&record, pointer).iter();
        out.extend(blocks.filter(|block| is_file(block)).cloned());
        Value::from(out)
    }
}

/// The protocol's messages for a run of messages. The results that follow an answer are one user message, because the API
/// wants them together.
pub fn records(messages: &[Message], losses: &mut Vec<String>) -> Vec<Value> {
    let mut out = Vec::new();
    let (mut unsigned, mut systems) = (0, 0);
    for (message, run) in runs(messages) {
        let (role, content) = match message.role {
            Role::Tool => ("user", results(run).map(result_block).collect()),
            Role::User | Role::System => {
                systems += usize::from(message.role == Role::System);
                ("user", user_content(message))
            }
            Role::Assistant => {
                let reasoning = message.parts.iter().filter(|part| is_unsigned(part));
                unsigned += reasoning.count();
                let signed = message.parts.iter().filter(|part| !is_unsigned(part));
                ("assistant", signed.filter_map(block).collect())
            }
        };
        // The API refuses a message without content.
        if says(&content) {
            out.push(json!({"role": role, "content": content}));
        }
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

/// Whether a content is not empty.
fn says(content: &Value) -> bool {
    match content {
        Value::String(text) => !text.trim().is_empty(),
        content => content.as_array().is_some_and(|blocks| !blocks.is_empty()),
    }
}

/// A content block; `None` for a blank text, which the API refuses.
pub fn block(part: &Part) -> Option<Value> {
    Some(match &part.kind {
        PartKind::Reasoning { opaque, .. } if part.redacted => {
            json!({"type": "redacted_thinking", "data": opaque})
        }
        PartKind::Reasoning { text, opaque } => {
            json!({"type": "thinking", "thinking": text, "signature": opaque})
        }
        PartKind::Call(call) => json!({
            "type": "tool_use",
            "id": call.call_id,
            "name": call.tool,
            "input": object(&call.arguments),
        }),
        PartKind::Result(found) => result_block(found),
        PartKind::File(media) => file_block(media),
        // A block that this format named itself goes back as it came.
        PartKind::Unknown { raw, name }
            if is_server_block(name) || value::text(raw, "type") == Some(COMPACTION) =>
        {
            raw.clone()
        }
        _ => text_block(&text_of(part))?,
    })
}

fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn result_block(result: &ToolResult) -> Value {
    let mut out = json!({
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": with_files(result, "text", file_block),
    });
    if result.status != ResultStatus::Completed {
        out["is_error"] = true.into();
    }
    out
}

/// A file as a block. What the API does not take becomes a line of text.
fn file_block(media: &Media) -> Value {
    let mime = mime_of(media);
    let (kind, source) = match held(media) {
        FileContent::Data(data) if IMAGES.contains(&mime) => {
            ("image", json!({"type": "base64", "media_type": mime, "data": data}))
        }
        FileContent::Data(data) if mime == PDF => {
            ("document", json!({"type": "base64", "media_type": mime, "data": data}))
        }
        FileContent::Data(data) => match decoded(mime, data) {
            Some(text) => {
                ("document", json!({"type": "text", "media_type": "text/plain", "data": text}))
            }
            None => return json!({"type": "text", "text": name_of(media)}),
        },
        FileContent::Link(url) if mime.starts_with("image/") => {
            ("image", json!({"type": "url", "url": url}))
        }
        FileContent::Link(url) => ("document", json!({"type": "url", "url": url})),
        FileContent::Nowhere => return json!({"type": "text", "text": name_of(media)}),
    };
    let mut out = json!({"type": kind, "source": source});
    if let (Some(name), "document") = (&media.name, kind) {
        out["title"] = name.as_str().into();
    }
    out
}

/// The types of images that the API takes.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The text of a text file.
fn decoded(mime: &str, data: &str) -> Option<String> {
    let bytes = mime.starts_with("text/").then(|| STANDARD.decode(data).ok()).flatten()?;
    String::from_utf8(bytes).ok().filter(|text| !text.trim().is_empty())
}
