//! OpenAI chat completions, <https://platform.openai.com/docs/api-reference/chat>. Reasoning is spelled
//! `reasoning_content`, as compatible servers do; OpenAI itself does not send it.

use super::{Spelling, halves};
use crate::reply::{Finish, Told, Usage};
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
        body["usage"] = spelling.told(usage(figures));
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
    let frames =
        choices.into_iter().map(|choices| frame(spelling, "chat.completion.chunk", choices));
    let mut frames: Vec<Value> = frames.collect();
    if let (Some(figures), true) = (spelling.usage, spelling.stream_usage) {
        let mut tell = |usage| {
            let mut last = frame(spelling, "chat.completion.chunk", json!([]));
            last["usage"] = usage;
            frames.push(last);
        };
        if spelling.told == Told::Nulls {
            tell(usage(figures));
        }
        tell(spelling.told(usage(figures)));
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

/// Every `tool` message answers a call of the assistant message in front of it, and all its calls are
/// answered before anybody else speaks.
pub(super) fn unpaired(messages: &[Value]) -> Option<Value> {
    let mut open: Vec<&str> = Vec::new();
    let end = Value::Null;
    for (index, message) in messages.iter().chain([&end]).enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(at) = open.iter().position(|call| *call == id) else {
                return Some(refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
                     message with 'tool_calls'.",
                    &format!("messages.[{index}].role"),
                ));
            };
            open.remove(at);
            continue;
        }
        if !open.is_empty() {
            let message = format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to \
                 each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                open.join(", ")
            );
            return Some(refusal(&message, &format!("messages.[{index}].role")));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str()));
    }
    None
}

fn refusal(message: &str, param: &str) -> Value {
    let kind = "invalid_request_error";
    json!({"error": {"message": message, "type": kind, "param": param, "code": null}})
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_results_belong_together() {
        let user = || json!({"role": "user", "content": "x"});
        let calls = |ids: &[&str]| {
            let calls: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
            json!({"role": "assistant", "tool_calls": calls})
        };
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id});
        let orphan = "must be a response";
        let missing = "did not have response messages: b";
        let rows = [
            ("none", vec![user()], None),
            ("paired", vec![calls(&["a", "b"]), result("b"), result("a"), user()], None),
            ("no call", vec![user(), result("a")], Some(orphan)),
            ("twice", vec![calls(&["a"]), result("a"), result("a")], Some(orphan)),
            ("of another", vec![calls(&["a"]), result("c")], Some(orphan)),
            ("interrupted", vec![calls(&["a", "b"]), result("a"), user()], Some(missing)),
            ("at the end", vec![calls(&["a", "b"]), result("a")], Some(missing)),
        ];
        for (name, messages, expect) in rows {
            let said = unpaired(&messages).map(|body| body["error"]["message"].to_string());
            match expect {
                None => assert_eq!(said, None, "{name}"),
                Some(words) => {
                    assert!(said.as_deref().unwrap().contains(words), "{name}: {said:?}")
                }
            }
        }
    }
}
