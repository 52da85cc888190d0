//! Gemini, <https://ai.google.dev/api/generate-content>. Calls have no ids on the wire.

use super::{Spelling, halves};
use crate::reply::Finish;
use serde_json::{Value, json};

pub(super) fn whole(spelling: &Spelling<'_>) -> Value {
    let answer = spelling.answer;
    let mut parts = Vec::new();
    if !answer.reasoning.is_empty() {
        parts.push(json!({"text": answer.reasoning, "thought": true}));
    }
    if !answer.text.is_empty() {
        parts.push(json!({"text": answer.text}));
    }
    parts.extend(calls(spelling));
    last(spelling, parts)
}

pub(super) fn pieces(spelling: &Spelling<'_>) -> Vec<String> {
    let answer = spelling.answer;
    let reasoning = halves(&answer.reasoning).into_iter();
    let reasoning = reasoning.map(|half| json!({"text": half, "thought": true}));
    let text = halves(&answer.text).into_iter();
    let text = text.map(|half| json!({"text": half}));
    let frames = reasoning.chain(text).chain(calls(spelling)).map(|part| {
        let content = json!({"role": "model", "parts": [part]});
        json!({"candidates": [{"index": 0, "content": content}], "modelVersion": spelling.model})
    });
    let end = last(spelling, Vec::new());
    let frames = frames.chain([end]);
    frames.map(|frame| format!("data: {frame}\n\n")).collect()
}

pub(super) fn overflow(window: u64, input: u64) -> Value {
    let message = format!(
        "The input token count ({input}) exceeds the maximum number of tokens allowed ({window})."
    );
    json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
}

fn calls(spelling: &Spelling<'_>) -> Vec<Value> {
    let calls = spelling.answer.calls.iter();
    let calls =
        calls.map(|call| json!({"functionCall": {"name": call.name, "args": call.arguments}}));
    calls.collect()
}

/// A body that says why the model stopped. No content at all where there are no parts, as Gemini does.
fn last(spelling: &Spelling<'_>, parts: Vec<Value>) -> Value {
    let finish = match spelling.answer.finish {
        Finish::Filter => "SAFETY",
        _ => spelling.finish("STOP", "STOP", "MAX_TOKENS"),
    };
    let mut candidate = json!({"index": 0, "finishReason": finish});
    if !parts.is_empty() {
        candidate["content"] = json!({"role": "model", "parts": parts});
    }
    let mut body = json!({"candidates": [candidate], "modelVersion": spelling.model});
    if let Some(usage) = spelling.usage {
        body["usageMetadata"] = spelling.told(json!({
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output,
            "cachedContentTokenCount": usage.cached,
        }));
    }
    body
}
