//! Ollama, <https://github.com/ollama/ollama/blob/main/docs/api.md>: lines of JSON, calls with
//! arguments as an object.

use super::{Spelling, halves};
use serde_json::{Value, json};

pub(super) fn whole(spelling: &Spelling<'_>) -> Value {
    let answer = spelling.answer;
    let mut message = json!({"role": "assistant", "content": answer.text});
    if !answer.reasoning.is_empty() {
        message["thinking"] = json!(answer.reasoning);
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = calls(spelling);
    }
    last(spelling, message)
}

pub(super) fn pieces(spelling: &Spelling<'_>) -> Vec<String> {
    let answer = spelling.answer;
    let mut messages = Vec::new();
    for half in halves(&answer.reasoning) {
        messages.push(json!({"role": "assistant", "content": "", "thinking": half}));
    }
    for half in halves(&answer.text) {
        messages.push(json!({"role": "assistant", "content": half}));
    }
    if !answer.calls.is_empty() {
        messages.push(json!({"role": "assistant", "content": "", "tool_calls": calls(spelling)}));
    }
    let messages = messages.into_iter();
    let lines = messages.map(|message| line(spelling, message, false));
    let end = last(spelling, json!({"role": "assistant", "content": ""}));
    let lines = lines.chain([end]);
    lines.map(|line| format!("{line}\n")).collect()
}

/// What the server says where a request may not be truncated.
pub(super) fn overflow() -> Value {
    json!({"error": "the input length exceeds the context length"})
}

fn calls(spelling: &Spelling<'_>) -> Value {
    let calls = spelling.answer.calls.iter();
    let calls =
        calls.map(|call| json!({"function": {"name": call.name, "arguments": call.arguments}}));
    calls.collect()
}

fn line(spelling: &Spelling<'_>, message: Value, done: bool) -> Value {
    json!({
        "model": spelling.model,
        "created_at": "1970-01-01T00:00:00Z",
        "message": message,
        "done": done,
    })
}

fn last(spelling: &Spelling<'_>, message: Value) -> Value {
    let mut body = line(spelling, message, true);
    body["done_reason"] = json!(spelling.finish("stop", "stop", "length"));
    if let Some(usage) = spelling.usage {
        body["prompt_eval_count"] = json!(usage.input);
        body["eval_count"] = json!(usage.output);
    }
    body
}
