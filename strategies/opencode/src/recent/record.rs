//! Messages as a record of who said what (version 2).

use crate::request::TRUNCATED;
use foldback_core::log::{
    EntryKind, Media, Message, Part, PartKind, ResultStatus, Role, ToolCall, ToolResult,
};
use std::sync::Arc;

/// A stored message in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What the record says; never empty.
    pub text: String,
    /// Whether the user wrote it.
    pub user: bool,
}

/// A stored message as the record has it: an answer goes with its results. `None` for what is no part of the record: earlier
/// checkpoints, and messages that say nothing.
pub fn recorded(messages: &[Arc<Message>], output_max: usize) -> Option<Recorded> {
    let first = messages.first()?;
    if first.is_entry_of(EntryKind::Summary) || first.is_entry_of(EntryKind::Marker) {
        return None;
    }
    let user = first.role == Role::User && !is_synthetic(first);
    let text = match first.role {
        Role::User if user => prompt(first),
        Role::User => format!("[Synthetic context]: {}", first.said()),
        _ => answer(messages, output_max),
    };
    (!text.is_empty()).then_some(Recorded { text, user })
}

/// Whether the harness wrote it in the user's name.
fn is_synthetic(message: &Message) -> bool {
    let mut texts = message.parts.iter().filter_map(|part| match part.kind {
        PartKind::Text { synthetic, .. } => Some(synthetic),
        PartKind::File(_) => Some(false),
        _ => None,
    });
    let first = texts.next();
    message.is_entry() || first.is_some_and(|first| first && texts.all(|synthetic| synthetic))
}

fn prompt(message: &Message) -> String {
    let files = message.parts.iter().filter_map(|part| match &part.kind {
        PartKind::File(media) => Some(file(media)),
        _ => None,
    });
    let lines: Vec<String> =
        std::iter::once(format!("[User]: {}", message.said())).chain(files).collect();
    lines.join("\n")
}

fn file(media: &Media) -> String {
    let inline = media.url.is_empty() || media.url.starts_with("data:");
    let place = if inline { "inline attachment" } else { &media.url };
    format!("[Attached {}: {}]", media.mime, media.name.as_deref().unwrap_or(place))
}

fn answer(messages: &[Arc<Message>], output_max: usize) -> String {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    let mut results: Vec<&ToolResult> = parts().filter_map(Part::as_result).collect();
    let mut lines = Vec::new();
    for part in parts() {
        match &part.kind {
            PartKind::Text { text, ignored: false, .. } => {
                lines.push(format!("[Assistant]: {text}"));
            }
            PartKind::Reasoning { text, .. } if !text.is_empty() => {
                lines.push(format!("[Assistant reasoning]: {text}"));
            }
            PartKind::Call(call) => {
                lines.push(called(call));
                let own = results.iter().position(|result| result.call_id == call.call_id);
                lines.extend(own.and_then(|at| returned(results.remove(at), output_max)));
            }
            _ => {}
        }
    }
    // Results whose call is not there.
    lines.extend(results.into_iter().filter_map(|result| returned(result, output_max)));
    lines.join("\n")
}

fn called(call: &ToolCall) -> String {
    let input = match call.arguments_value() {
        serde_json::Value::String(text) => text,
        value => value.to_string(),
    };
    format!("[Assistant tool call]: {}({input})", call.tool)
}

fn returned(result: &ToolResult, output_max: usize) -> Option<String> {
    match result.status {
        ResultStatus::Completed => {
            let text = (!result.text.is_empty()).then(|| result.text.clone());
            let media = result.media.iter().map(|media| match &media.name {
                Some(name) => format!("[Attached {}: {name}]", media.mime),
                None => format!("[Attached {}]", media.mime),
            });
            let content: Vec<String> = text.into_iter().chain(media).collect();
            Some(format!("[Tool result]: {}", cut(content.join("\n"), output_max)))
        }
        ResultStatus::Error | ResultStatus::Retry => Some(format!("[Tool error]: {}", result.text)),
        ResultStatus::Pending | ResultStatus::Running => None,
    }
}

/// The first `most` characters; a surrogate pair is one.
fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push_str(TRUNCATED);
    }
    text
}
