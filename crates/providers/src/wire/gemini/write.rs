//! Writes messages as contents.

use super::SIGNATURE;
use crate::wire::shared::made::{
    FileContent, held, mime_of, name_of, object, results, runs, text_of,
};
use crate::wire::shared::raw::json_string;
use crate::wire::shared::rewrite::Dialect;
use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, Role, ToolResult};
use foldback_core::view::{PartEdit, PartPos};
use serde_json::{Map, Value, json};

/// Writes contents over a list.
pub struct Writer;

impl Dialect for Writer {
    fn edited(&self, _: PartPos, part: &Part, pointer: &str, edit: &PartEdit) -> Option<String> {
        match &part.kind {
            // A signature says nothing that could be put in other words.
            PartKind::Reasoning { .. } if pointer.ends_with(SIGNATURE) => None,
            PartKind::Call(_) => Some(object(&edit.text).to_string()),
            PartKind::Result(_) if pointer.ends_with("/response") => {
                Some(json!({ "output": edit.text }).to_string())
            }
            _ => Some(json_string(&edit.text)),
        }
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        records(messages)
    }
}

/// Contents of a run of canonical messages. The results that follow an answer are one content, because the API counts
/// its parts against the calls.
pub fn records(messages: &[Message]) -> Vec<Value> {
    let mut out = Vec::new();
    for (message, run) in runs(messages) {
        let parts = match message.role {
            Role::Tool => results(run).map(result).collect(),
            _ => parts(message),
        };
        let role = match message.role {
            Role::Assistant => "model",
            _ => "user",
        };
        // The API refuses a content without parts.
        if !parts.is_empty() {
            out.push(json!({ "role": role, "parts": parts }));
        }
    }
    out
}

fn parts(message: &Message) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut signature: Option<&str> = None;
    for part in &message.parts {
        let mut made = match &part.kind {
            PartKind::Reasoning { text, opaque } => {
                signature = opaque.as_deref().or(signature);
                if text.is_empty() {
                    continue;
                }
                json!({ "text": text, "thought": true })
            }
            PartKind::Call(call) => json!({
                "functionCall": {
                    "id": call.call_id,
                    "name": call.tool,
                    "args": object(&call.arguments),
                },
            }),
            PartKind::Result(found) => result(found),
            PartKind::File(media) => file(media),
            PartKind::Unknown { name, raw } if raw.get(name).is_some() => raw.clone(),
            _ => match text_of(part) {
                text if text.is_empty() => continue,
                text => json!({ "text": text }),
            },
        };
        if let (Some(mark), Value::Object(made)) = (signature.take(), &mut made) {
            made.insert(SIGNATURE.to_owned(), mark.into());
        }
        out.push(made);
    }
    out
}

fn result(result: &ToolResult) -> Value {
    let key = match result.status {
        ResultStatus::Error | ResultStatus::Retry => "error",
        _ => "output",
    };
    let mut response = Map::new();
    response.insert(key.to_owned(), result.text.as_str().into());
    let mut out = json!({
        "id": result.call_id,
        "name": result.tool,
        "response": response,
    });
    if !result.media.is_empty() {
        let files = result.media.iter().map(file);
        // Only data and links have a place beside a response.
        out["parts"] = files.filter(|part| part.get("text").is_none()).collect();
    }
    json!({ "functionResponse": out })
}

/// A file as a part. A file out of reach becomes a line of text.
fn file(media: &Media) -> Value {
    let mime = mime_of(media);
    match held(media) {
        FileContent::Data(data) => json!({ "inlineData": { "mimeType": mime, "data": data } }),
        FileContent::Link(url) => json!({ "fileData": { "mimeType": mime, "fileUri": url } }),
        FileContent::Nowhere => json!({ "text": name_of(media) }),
    }
}
