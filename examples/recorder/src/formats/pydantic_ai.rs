//! pydantic-ai: a JSON list of requests and responses; results stand in the request that follows.

use super::Format;
use crate::record::{Call, Recording};
use crate::seed::{Seed, time};
use crate::tools::Found;
use serde_json::{Value, json};

/// OpenAI caches prefixes in blocks of this many tokens.
const CACHE_BLOCK: u64 = 128;

const SYSTEM: &str = "You are a coding agent in a terminal. You can list folders, search, read, edit and write files \
and run commands in the working folder. Read before you edit. Make the smallest change that does what was asked, run \
the tests after each change, and say plainly what you did and what you did not do. Amounts are money of customers: if a \
rule is unclear, quote it and ask.";

/// The format.
pub fn format() -> Format {
    Format::new("json", include_str!("pydantic-ai.json"), |format, recording| {
        Writer::new(format, recording).file()
    })
}

struct Writer<'a> {
    format: &'a Format,
    recording: &'a Recording<'a>,
    seed: Seed,
    model: String,
    messages: Vec<Value>,
}

impl<'a> Writer<'a> {
    fn new(format: &'a Format, recording: &'a Recording<'a>) -> Self {
        let model = recording.script.header("model");
        Self { format, recording, seed: recording.seed(), model, messages: Vec::new() }
    }

    fn file(mut self) -> String {
        for (index, turn) in self.recording.turns.iter().enumerate() {
            let run = self.seed.uuid();
            let at = time::show(turn.at);
            let mut parts = Vec::new();
            if index == 0 {
                parts.push(json!({"content": SYSTEM, "timestamp": at, "dynamic_ref": null, "part_kind": "system-prompt"}));
            }
            parts.push(json!({"content": turn.text, "timestamp": at, "part_kind": "user-prompt"}));
            self.request(parts, &run);
            for call in &turn.calls {
                self.answer(call, &run);
            }
        }
        format!("{:#}\n", Value::Array(self.messages))
    }

    fn request(&mut self, parts: Vec<Value>, run: &str) {
        self.messages
            .push(json!({"parts": parts, "instructions": null, "kind": "request", "run_id": run}));
    }

    fn answer(&mut self, call: &Call, run: &str) {
        let mut parts = Vec::new();
        let mut returns = Vec::new();
        if !call.text.is_empty() {
            parts.push(json!({"content": call.text, "id": null, "part_kind": "text"}));
        }
        for action in &call.actions {
            let (name, input) = self.format.call(&action.tool);
            let id = format!("call_{}", self.seed.base62(24));
            parts.push(json!({
                "tool_name": name, "args": input.to_string(), "tool_call_id": id, "id": null, "part_kind": "tool-call",
            }));
            let at = time::show(action.ended);
            match action.outcome.as_ref().map(|outcome| &outcome.found) {
                None => {}
                Some(Found::Failed(_)) => returns.push(json!({
                    "content": action.shown, "tool_name": name, "tool_call_id": id, "timestamp": at, "part_kind": "retry-prompt",
                })),
                Some(_) => returns.push(json!({
                    "tool_name": name, "content": action.shown, "tool_call_id": id, "metadata": null, "timestamp": at,
                    "part_kind": "tool-return",
                })),
            }
        }
        let finish = if call.actions.is_empty() { "stop" } else { "tool_call" };
        let raw = if call.actions.is_empty() { "stop" } else { "tool_calls" };
        let response = format!("chatcmpl-{}", self.seed.base62(29));
        self.messages.push(json!({
            "parts": parts,
            "usage": {
                "input_tokens": call.usage.input, "cache_write_tokens": 0,
                "cache_read_tokens": call.usage.cache_read / CACHE_BLOCK * CACHE_BLOCK,
                "output_tokens": call.usage.output, "details": {"reasoning_tokens": call.usage.reasoning},
            },
            "model_name": self.model, "timestamp": time::show(call.ended), "kind": "response", "provider_name": "openai",
            "provider_details": {"finish_reason": raw}, "provider_response_id": response, "finish_reason": finish,
            "run_id": run,
        }));
        if !returns.is_empty() {
            self.request(returns, run);
        }
    }
}
