//! Newly written lines: for sessions of other formats, and for what a strategy added.

use crate::prelude::*;

use crate::bodies::{Held, held, mime_of, text_of};

pub(super) use foldback_providers::wire::responses::{edited, message};

/// The items of a message. Codex knows images and no other files; the name of a file stays.
pub(super) fn items(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    let mut message = message.clone();
    let fits = |media: &Media| {
        mime_of(media).starts_with("image/") && !matches!(held(media), Held::Nowhere)
    };
    let mut lost = 0;
    for part in &mut message.parts {
        match &mut part.kind {
            PartKind::File(media) if !fits(media) => {
                lost += 1;
                part.kind = Part::text(text_of(part)).kind;
            }
            PartKind::Result(result) => {
                let before = result.media.len();
                result.media.retain(fits);
                lost += before - result.media.len();
            }
            _ => {}
        }
    }
    if lost > 0 {
        losses.push(format!("{lost} file(s) that are no images"));
    }
    foldback_providers::wire::responses::items(&message, losses)
}

/// A line with its envelope.
pub(super) fn line(timestamp: &str, kind: &str, payload: Value) -> Value {
    json!({ "timestamp": timestamp, "type": kind, "payload": payload })
}

/// The count that follows an answer, and the running total up to it.
pub(super) fn token_count(usage: &Usage, total: &Usage, window: u64) -> Value {
    let counts = |usage: &Usage| {
        json!({
            "input_tokens": usage.input_total(),
            "cached_input_tokens": usage.cache_read,
            "output_tokens": usage.output_total(),
            "reasoning_output_tokens": usage.reasoning,
            "total_tokens": usage.total_tokens(),
        })
    };
    json!({
        "type": "token_count",
        "info": {
            "total_token_usage": counts(total),
            "last_token_usage": counts(usage),
            "model_context_window": (window > 0).then_some(window),
        },
    })
}
