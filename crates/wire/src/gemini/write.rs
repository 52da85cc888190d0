//! From the canonical form to contents.

use super::SIGNATURE;
use crate::shared::made::{bare_data, object, results, runs, text_of};
use crate::shared::raw::json_string;
use crate::shared::rewrite::Dialect;
use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, Role, ToolResult};
use foldback_core::view::{PartEdit, PartPos};
use serde_json::{Map, Value, json};

/// Writes contents over a list.
pub struct Writer<'a> {
    /// What has no place.
    pub losses: &'a mut Vec<String>,
}

impl Dialect for Writer<'_> {
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
        records(messages, true, self.losses)
    }
}

/// Contents of a run of canonical messages: the results that follow an answer are one content, because
/// the API wants as many of them as there were calls. Signatures are the model's own and only kept
/// where `signed` says that they are Gemini's.
pub(super) fn records(messages: &[Message], signed: bool, losses: &mut Vec<String>) -> Vec<Value> {
    let mut out = Vec::new();
    let mut unsigned = 0;
    for (message, run) in runs(messages) {
        let parts = match message.role {
            Role::Tool => results(run).map(result).collect(),
            _ => parts(message, signed, &mut unsigned),
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
    if unsigned > 0 {
        losses.push(format!(
            "{unsigned} signature(s) of reasoning, which only the provider that made them takes back"
        ));
    }
    out
}

fn parts(message: &Message, signed: bool, unsigned: &mut usize) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut signature: Option<&str> = None;
    for part in &message.parts {
        let mut made = match &part.kind {
            PartKind::Reasoning { text, opaque } => {
                let opaque = opaque.as_deref().filter(|_| signed);
                *unsigned += usize::from(!signed && has_signature(part));
                signature = opaque.or(signature);
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

fn has_signature(part: &Part) -> bool {
    matches!(&part.kind, PartKind::Reasoning { opaque: Some(_), .. })
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
        out["parts"] = result.media.iter().map(file).collect();
    }
    json!({ "functionResponse": out })
}

fn file(media: &Media) -> Value {
    if media.url.contains("://") {
        return json!({ "fileData": { "mimeType": media.mime, "fileUri": media.url } });
    }
    json!({ "inlineData": { "mimeType": media.mime, "data": bare_data(media) } })
}
