//! What the summarizer sees of an event: the beginning of its text.

use foldback_core::log::{Message, Part, PartKind};
use foldback_stages::filter::first_chars;
use std::sync::Arc;

/// A message as the summarizer sees it: the first `limit` characters of what it says, of calls only the tool; 0 for the
/// whole message. What has no calls and is no result loses three more, so that it has `limit` characters with the dots.
pub(crate) fn preview(message: Arc<Message>, limit: usize) -> Arc<Message> {
    if limit == 0 {
        return message;
    }
    let calls = message.call_ids().next().is_some();
    let mut parts = Vec::new();
    let said: Vec<&str> = message.parts.iter().filter_map(text).collect();
    if !said.is_empty() {
        let kept = if calls { limit } else { limit.saturating_sub(3) };
        parts.push(Part::text(cut(&said.join(" "), limit, kept)));
    }
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => parts.push(Part::call(&call.call_id, &call.tool, "{}")),
            PartKind::Result(result) => {
                let mut part = part.clone();
                if let PartKind::Result(shown) = &mut part.kind {
                    shown.text = cut(&result.text, limit, limit);
                    shown.structured = None;
                }
                parts.push(part);
            }
            PartKind::Text { .. } | PartKind::Reasoning { .. } => {}
            _ => parts.push(part.clone()),
        }
    }
    Arc::new(message.with_parts(parts))
}

fn text(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Text { text, ignored: false, .. } => Some(text),
        _ => None,
    }
}

/// The first `kept` characters and dots, if there are more than `limit`.
pub(crate) fn cut(text: &str, limit: usize, kept: usize) -> String {
    match first_chars(text, limit) {
        Some(_) => text.chars().take(kept).chain("...".chars()).collect(),
        None => text.to_owned(),
    }
}
