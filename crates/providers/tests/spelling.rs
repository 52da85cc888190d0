//! A conversation as each protocol spells it, with fields that nobody here knows.

use foldback_providers::wire::Dialect;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What happened in a conversation.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    User { text: String, image: bool },
    Answer { thought: Option<String>, text: String, calls: Vec<Call> },
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    path: String,
    result: String,
    failed: bool,
    image: bool,
}

const IMAGE: &str = "iVBORw0KGgo=";

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}( [a-z]{1,8}){0,4}", Just("é \"quoted\"\n\\ 😀 </s>".to_owned())]
}

/// A conversation that ends with the user, with or without reasoning.
pub(crate) fn turns(thoughts: bool) -> impl Strategy<Value = Vec<Turn>> {
    let call = (text(), text(), any::<bool>(), any::<bool>())
        .prop_map(|(path, result, failed, image)| Call { path, result, failed, image });
    let calls = prop::collection::vec(call, 1..4);
    let answer =
        (prop::option::of(text()), text(), calls).prop_map(move |(thought, text, calls)| {
            Turn::Answer { thought: thought.filter(|_| thoughts), text, calls }
        });
    let answers = prop::collection::vec(answer, 0..4);
    let user = || (text(), any::<bool>()).prop_map(|(text, image)| Turn::User { text, image });
    let last = text().prop_map(|text| Turn::Answer { thought: None, text, calls: Vec::new() });
    let round = (user(), answers, last).prop_map(|(user, answers, last)| {
        [user].into_iter().chain(answers).chain([last]).collect::<Vec<_>>()
    });
    (prop::collection::vec(round, 1..4), user())
        .prop_map(|(rounds, user)| rounds.into_iter().flatten().chain([user]).collect())
}

/// The body of a request.
pub(crate) fn body(dialect: Dialect, turns: &[Turn]) -> Value {
    let mut list = Vec::new();
    let mut number = 0;
    for (index, turn) in turns.iter().enumerate() {
        list.extend(spelt(dialect, index, turn, &mut number));
    }
    match dialect {
        Dialect::OpenAiChat => {
            list.insert(0, json!({"role": "system", "content": "Be brief."}));
            json!({"model": "m", "stream": true, "messages": list, "tools": [{"type": "function", "function": {"name": "read"}}], "x-unknown": [1.50, null]})
        }
        Dialect::Anthropic => {
            json!({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}], "tools": [{"name": "read"}], "messages": list, "x-unknown": [1.50, null]})
        }
        Dialect::Gemini => {
            json!({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": list, "tools": [{"functionDeclarations": []}], "x-unknown": [1.50, null]})
        }
        Dialect::OpenAiResponses => {
            json!({"model": "m", "instructions": "Be brief.", "input": list, "tools": [{"type": "function", "name": "read"}], "store": false, "x-unknown": [1.50, null]})
        }
    }
}

fn spelt(dialect: Dialect, index: usize, turn: &Turn, number: &mut usize) -> Vec<Value> {
    match (dialect, turn) {
        (Dialect::OpenAiChat, Turn::User { text, image: false }) => {
            vec![json!({"role": "user", "content": text, "name": "ann"})]
        }
        (Dialect::OpenAiChat, Turn::User { text, image: true }) => vec![json!({
            "role": "user",
            "content": [
                {"type": "text", "text": text},
                {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{IMAGE}"), "detail": "low"}},
            ],
        })],
        (Dialect::OpenAiChat, Turn::Answer { thought, text, calls }) => {
            let mut message = json!({"role": "assistant", "content": text});
            if let Some(thought) = thought {
                message["reasoning_content"] = json!(thought);
            }
            let (mut made, mut out) = (Vec::new(), Vec::new());
            for call in calls {
                let id = id(number);
                let arguments = json!({"path": call.path}).to_string();
                made.push(json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}));
                out.push(json!({"role": "tool", "tool_call_id": id, "content": call.result}));
            }
            if !made.is_empty() {
                message["tool_calls"] = json!(made);
            }
            out.insert(0, message);
            out
        }
        (Dialect::Anthropic, Turn::User { text, image: false }) => {
            vec![json!({"role": "user", "content": text})]
        }
        (Dialect::Anthropic, Turn::User { text, image: true }) => {
            vec![json!({"role": "user", "content": [
                {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}},
                anthropic_image(),
            ]})]
        }
        (Dialect::Anthropic, Turn::Answer { thought, text, calls }) => {
            let mut content = Vec::new();
            if let Some(thought) = thought {
                content.push(json!({"type": "thinking", "thinking": thought, "signature": "c2ln"}));
            }
            content.push(json!({"type": "text", "text": text}));
            let mut results = Vec::new();
            for call in calls {
                let id = id(number);
                content.push(json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": call.path}}));
                let result = match call.image {
                    true => json!([{"type": "text", "text": call.result}, anthropic_image()]),
                    false => json!(call.result),
                };
                results.push(json!({"type": "tool_result", "tool_use_id": id, "content": result, "is_error": call.failed}));
            }
            let mut out = vec![json!({"role": "assistant", "content": content})];
            if !results.is_empty() {
                out.push(json!({"role": "user", "content": results}));
            }
            out
        }
        (Dialect::Gemini, Turn::User { text, image }) => {
            let mut parts = vec![json!({"text": text})];
            if *image {
                parts.push(json!({"inlineData": {"mimeType": "image/png", "data": IMAGE}}));
            }
            vec![json!({"role": "user", "parts": parts})]
        }
        (Dialect::Gemini, Turn::Answer { thought, text, calls }) => {
            let mut parts = Vec::new();
            if let Some(thought) = thought {
                parts.push(json!({"text": thought, "thought": true}));
            }
            parts.push(json!({"text": text}));
            let mut results = Vec::new();
            for call in calls {
                // Without ids, as the API gives them.
                parts.push(json!({"functionCall": {"name": "read", "args": {"path": call.path}}, "thoughtSignature": "c2ln"}));
                let key = if call.failed { "error" } else { "output" };
                let mut response = Map::new();
                response.insert(key.to_owned(), json!(call.result));
                results.push(json!({"functionResponse": {"name": "read", "response": response}}));
            }
            let mut out = vec![json!({"role": "model", "parts": parts})];
            if !results.is_empty() {
                out.push(json!({"role": "user", "parts": results}));
            }
            out
        }
        (Dialect::OpenAiResponses, Turn::User { text, image }) => {
            let mut content = vec![json!({"type": "input_text", "text": text})];
            if *image {
                content.push(json!({"type": "input_image", "image_url": format!("data:image/png;base64,{IMAGE}"), "detail": "low"}));
            }
            vec![json!({"role": "user", "content": content})]
        }
        (Dialect::OpenAiResponses, Turn::Answer { thought, text, calls }) => {
            let mut out = Vec::new();
            if let Some(thought) = thought {
                out.push(json!({"type": "reasoning", "id": format!("rs_{index}"), "summary": [{"type": "summary_text", "text": thought}], "encrypted_content": "c2ln"}));
            }
            out.push(json!({"type": "message", "role": "assistant", "id": format!("msg_{index}"), "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}));
            let mut results = Vec::new();
            for call in calls {
                let id = id(number);
                let arguments = json!({"path": call.path}).to_string();
                out.push(json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "read", "arguments": arguments}));
                results.push(
                    json!({"type": "function_call_output", "call_id": id, "output": call.result}),
                );
            }
            out.extend(results);
            out
        }
    }
}

fn id(number: &mut usize) -> String {
    *number += 1;
    format!("call_{number}")
}

fn anthropic_image() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}})
}
