//! OpenAI chat completions, <https://platform.openai.com/docs/api-reference/chat>. Reasoning is spelt
//! `reasoning_content`, as compatible servers do; OpenAI itself does not send it.

use super::{Spelling, halves};
use crate::reply::{Finish, Usage};
use serde_json::{Value, json};

pub(super) fn whole(spelling: &Spelling<'_>) -> Value {
    let answer = spelling.answer;
    let mut message = json!({"role": "assistant", "content": null});
    if !answer.text.is_empty() {
        message["content"] = json!(answer.text);
    }
    if !answer.reasoning.is_empty() {
        message["reasoning_content"] = json!(answer.reasoning);
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
            json!({"id": call.id, "type": "function", "function": function})
        });
        message["tool_calls"] = calls.collect();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish(spelling)});
    let mut body = frame(spelling, "chat.completion", json!([choice]));
    if let Some(figures) = spelling.usage {
        body["usage"] = usage(figures);
    }
    body
}

pub(super) fn pieces(spelling: &Spelling<'_>) -> Vec<String> {
    let answer = spelling.answer;
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    for half in halves(&answer.reasoning) {
        deltas.push(json!({"reasoning_content": half}));
    }
    for half in halves(&answer.text) {
        deltas.push(json!({"content": half}));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let start =
            json!({"index": index, "id": call.id, "type": "function", "function": function});
        deltas.push(json!({"tool_calls": [start]}));
        for half in halves(&call.arguments.to_string()) {
            let more = json!({"index": index, "function": {"arguments": half}});
            deltas.push(json!({"tool_calls": [more]}));
        }
    }
    let open = |delta| json!([{"index": 0, "delta": delta, "finish_reason": null}]);
    let mut choices: Vec<Value> = deltas.into_iter().map(open).collect();
    choices.push(json!([{"index": 0, "delta": {}, "finish_reason": finish(spelling)}]));
    let frames = choices
        .into_iter()
        .map(|choices| frame(spelling, "chat.completion.chunk", choices));
    let mut frames: Vec<Value> = frames.collect();
    if let (Some(figures), true) = (spelling.usage, spelling.stream_usage) {
        let mut last = frame(spelling, "chat.completion.chunk", json!([]));
        last["usage"] = usage(figures);
        frames.push(last);
    }
    let frames = frames.iter().map(|frame| format!("data: {frame}\n\n"));
    frames.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

pub(super) fn overflow(window: u64, input: u64, output: u64) -> Value {
    let message = if output == 0 {
        format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in \
             {input} tokens. Please reduce the length of the messages."
        )
    } else {
        format!(
            "This model's maximum context length is {window} tokens. However, you requested {} tokens \
             ({input} in the messages, {output} in the completion). Please reduce the length of the \
             messages or completion.",
            input + output
        )
    };
    let kind = "invalid_request_error";
    let code = "context_length_exceeded";
    json!({"error": {"message": message, "type": kind, "param": "messages", "code": code}})
}

fn frame(spelling: &Spelling<'_>, object: &str, choices: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", spelling.number),
        "object": object,
        "created": 0,
        "model": spelling.model,
        "choices": choices,
    })
}

fn finish(spelling: &Spelling<'_>) -> &'static str {
    match spelling.answer.finish {
        Finish::Filter => "content_filter",
        _ => spelling.finish("stop", "tool_calls", "length"),
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    })
}
