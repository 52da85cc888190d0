//! The chunks of a chat completion.

use crate::wire::WireError;
use crate::wire::shared::pieces::{Pieces, append, tell};
use crate::wire::shared::value;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The answer put together from the chunks so far.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    message: Value,
    /// Calls by their index in the message.
    calls: BTreeMap<u64, Value>,
    finish: Value,
    usage: Value,
    model: Value,
}

/// Members of a delta that are texts in pieces.
const TEXTS: [&str; 4] = ["content", "reasoning_content", "reasoning", "refusal"];

/// What a provider says besides, which comes whole: Gemini's signatures.
const EXTRA: &str = "extra_content";

impl Pieces for Chunks {
    fn push(&mut self, chunk: Value) -> Result<(), WireError> {
        if !chunk.is_object() {
            return Err(WireError::shape("", "a chunk is an object"));
        }
        // The chunk with usage has no choices.
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        if self.message.is_null() {
            self.message = json!({"role": "assistant"});
        }
        for key in TEXTS {
            append(&mut self.message, delta, key);
        }
        if let Some(extra) = delta.get(EXTRA) {
            self.message[EXTRA] = extra.clone();
        }
        for piece in value::list(delta, "tool_calls") {
            // Some servers leave the index out where there is one call.
            let index = piece.get("index").and_then(Value::as_u64).unwrap_or(0);
            let call = self.calls.entry(index).or_insert_with(|| json!({"type": "function"}));
            for key in ["id", "type"] {
                if let Some(told) = value::filled(piece, key) {
                    call[key] = told.into();
                }
            }
            if let Some(extra) = piece.get(EXTRA) {
                call[EXTRA] = extra.clone();
            }
            for (kind, text) in [("function", "arguments"), ("custom", "input")] {
                if let Some(part) = piece.get(kind).filter(|part| part.is_object()) {
                    if let Some(name) = value::filled(part, "name") {
                        call[kind]["name"] = name.into();
                    }
                    append(&mut call[kind], part, text);
                }
            }
        }
        for (place, told) in [
            (&mut self.finish, choice.get("finish_reason")),
            (&mut self.usage, chunk.get("usage")),
            (&mut self.model, chunk.get("model")),
        ] {
            told.into_iter().for_each(|told| tell(place, told.clone()));
        }
        Ok(())
    }

    fn body(self: Box<Self>) -> Option<Value> {
        let Self { mut message, calls, finish, usage, model } = *self;
        if finish.is_null() {
            return None;
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into_values().collect();
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        Some(json!({"model": model, "choices": [choice], "usage": usage}))
    }
}
