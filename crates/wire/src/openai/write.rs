//! From the canonical form to messages of the protocol.

use crate::shared::made::{data_url, stored_call, text_of};
use crate::shared::rewrite::Dialect;
use foldback_core::log::{Media, Message, Part, PartKind, Role};
use serde_json::{Value, json};

/// Writes messages over a list. Every text of this protocol is a JSON string, arguments included.
pub struct Writer<'a> {
    /// What has no place.
    pub losses: &'a mut Vec<String>,
}

impl Dialect for Writer<'_> {
    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        records(messages, self.losses)
    }
}

/// One chat message for every canonical one.
pub(super) fn records(messages: &[Message], losses: &mut Vec<String>) -> Vec<Value> {
    let mut files = 0;
    let out = messages
        .iter()
        .map(|message| match message.role {
            Role::System => json!({"role": "system", "content": message.shown_text()}),
            Role::User => json!({"role": "user", "content": user_content(message)}),
            Role::Assistant => assistant(message),
            Role::Tool => {
                let result = message.parts.iter().find_map(Part::as_result);
                files += result.map_or(0, |result| result.media.len());
                json!({
                    "role": "tool",
                    "tool_call_id": result.map_or("", |result| &*result.call_id),
                    "content": message.shown_text(),
                })
            }
        })
        .collect();
    if files > 0 {
        losses.push(format!(
            "{files} files that came with tool results: a tool message holds text only"
        ));
    }
    out
}

fn user_content(message: &Message) -> Value {
    if let [part] = message.parts.as_slice()
        && !matches!(part.kind, PartKind::File(_))
    {
        return Value::from(text_of(part));
    }
    message
        .parts
        .iter()
        .map(|part| match &part.kind {
            PartKind::File(media) => file(media),
            _ => json!({"type": "text", "text": text_of(part)}),
        })
        .collect()
}

fn file(media: &Media) -> Value {
    let url = data_url(media);
    if media.mime.starts_with("image/") {
        json!({"type": "image_url", "image_url": {"url": url}})
    } else {
        let name = media.name.as_deref().unwrap_or("file");
        json!({"type": "file", "file": {"filename": name, "file_data": url}})
    }
}

fn assistant(message: &Message) -> Value {
    let (mut said, mut reasoning, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => calls.push(stored_call(call)),
            PartKind::Reasoning { text, .. } => reasoning.push(text.as_str()),
            _ => said.push(text_of(part)),
        }
    }
    let only_calls = said.is_empty() && !calls.is_empty();
    let mut out = json!({
        "role": "assistant",
        "content": (!only_calls).then(|| said.join("\n")),
    });
    let reasoning = reasoning.join("\n");
    if !reasoning.is_empty() {
        out["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        out["tool_calls"] = calls.into();
    }
    out
}
