//! Writes messages as the protocol has them.

use super::read::SIGNATURE;
use crate::wire::shared::made::{
    FileContent, data_url, held, mime_of, name_of, stored_call, text_of,
};
use crate::wire::shared::raw::json_string;
use crate::wire::shared::rewrite::Dialect;
use foldback_core::log::{Media, Message, Part, PartKind, Role};
use foldback_core::view::{PartEdit, PartPos};
use serde_json::{Value, json};

/// Writes messages over a list. Every text of this protocol is a JSON string, arguments included.
pub struct Writer<'a> {
    /// What the protocol has no place for, one line each.
    pub losses: &'a mut Vec<String>,
}

impl Dialect for Writer<'_> {
    fn edited(&self, _: PartPos, part: &Part, pointer: &str, edit: &PartEdit) -> Option<String> {
        match &part.kind {
            // A signature says nothing that could be put in other words.
            PartKind::Reasoning { .. } if pointer.ends_with(SIGNATURE) => None,
            _ => Some(json_string(&edit.text)),
        }
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        records(messages, self.losses)
    }
}

/// One chat message for every message.
pub fn records(messages: &[Message], losses: &mut Vec<String>) -> Vec<Value> {
    let mut files = 0;
    let out = messages
        .iter()
        .filter_map(|message| {
            Some(match message.role {
                Role::System => json!({"role": "system", "content": message.shown_text()}),
                Role::User => json!({"role": "user", "content": user_content(message)?}),
                Role::Assistant => assistant(message)?,
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
        })
        .collect();
    if files > 0 {
        losses.push(format!(
            "{files} files that came with tool results: a tool message holds text only"
        ));
    }
    out
}

/// The content as a text or a list; `None` if it is empty, which the API refuses.
fn user_content(message: &Message) -> Option<Value> {
    if let [part] = message.parts.as_slice()
        && !matches!(part.kind, PartKind::File(_))
    {
        return Some(Value::from(text_of(part)));
    }
    let items = message.parts.iter().filter_map(|part| match &part.kind {
        PartKind::File(media) => Some(file(media)),
        _ => text_item(&text_of(part)),
    });
    let items: Vec<Value> = items.collect();
    (!items.is_empty()).then(|| items.into())
}

fn text_item(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// A file as content. What the API does not take becomes a line of text.
fn file(media: &Media) -> Value {
    let mime = mime_of(media);
    match (held(media), mime.split_once('/')) {
        (FileContent::Data(data), Some(("image", _))) => {
            json!({"type": "image_url", "image_url": {"url": data_url(mime, data)}})
        }
        (FileContent::Link(url), Some(("image", _))) => {
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        (FileContent::Data(data), Some(("audio", format))) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        (FileContent::Data(data), _) => {
            let name = media.name.as_deref().unwrap_or("file");
            json!({"type": "file", "file": {"filename": name, "file_data": data_url(mime, data)}})
        }
        (FileContent::Link(_) | FileContent::Nowhere, _) => {
            json!({"type": "text", "text": name_of(media)})
        }
    }
}

/// An answer; `None` if it is empty, which the API refuses.
fn assistant(message: &Message) -> Option<Value> {
    let (mut said, mut reasoning, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => calls.push(stored_call(call)),
            PartKind::Reasoning { text, .. } => reasoning.push(text.as_str()),
            _ => said.push(text_of(part)),
        }
    }
    if message.parts.is_empty() {
        return None;
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
    Some(out)
}
