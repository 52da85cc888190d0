//! Newly written lines: for sessions of other formats, and for what a strategy added.

use crate::prelude::*;

pub(super) use foldback_wire::responses::{edited, items, message};

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
