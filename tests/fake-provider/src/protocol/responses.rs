//! OpenAI Responses, <https://platform.openai.com/docs/api-reference/responses> and `/responses-streaming`.

use super::{Spelling, halves};
use crate::reply::{Finish, Usage};
use serde_json::{Value, json};

pub(super) fn whole(spelling: &Spelling<'_>) -> Value {
    let mut body =
        response(spelling, if incomplete(spelling) { "incomplete" } else { "completed" });
    body["output"] = Value::from(output(spelling));
    if incomplete(spelling) {
        body["incomplete_details"] = json!({"reason": reason(spelling)});
    }
    if let Some(figures) = spelling.usage {
        body["usage"] = spelling.told(usage(figures));
    }
    body
}

pub(super) fn pieces(spelling: &Spelling<'_>) -> Vec<String> {
    let started = response(spelling, "in_progress");
    let mut events = vec![
        json!({"type": "response.created", "response": started}),
        json!({"type": "response.in_progress", "response": started}),
    ];
    for (index, item) in output(spelling).into_iter().enumerate() {
        let id = item["id"].clone();
        let place = |event: Value| -> Value {
            let mut event = event;
            event["output_index"] = json!(index);
            event["item_id"] = id.clone();
            event
        };
        let mut empty = item.clone();
        let kind = item["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "message" => {
                empty["content"] = json!([]);
                empty["status"] = json!("in_progress");
            }
            "function_call" => {
                empty["arguments"] = json!("");
                empty["status"] = json!("in_progress");
            }
            _ => {}
        }
        events.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": empty}),
        );
        match kind.as_str() {
            "message" => {
                let part = &item["content"][0];
                let text = part["text"].as_str().unwrap_or_default();
                let blank = json!({"type": "output_text", "text": "", "annotations": []});
                events.push(place(json!({"type": "response.content_part.added", "content_index": 0, "part": blank})));
                for half in halves(text) {
                    events.push(place(json!({"type": "response.output_text.delta", "content_index": 0, "delta": half, "logprobs": []})));
                }
                events.push(place(json!({"type": "response.output_text.done", "content_index": 0, "text": text, "logprobs": []})));
                events.push(place(
                    json!({"type": "response.content_part.done", "content_index": 0, "part": part}),
                ));
            }
            "function_call" => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                for half in halves(arguments) {
                    events.push(place(
                        json!({"type": "response.function_call_arguments.delta", "delta": half}),
                    ));
                }
                events.push(place(json!({"type": "response.function_call_arguments.done", "name": item["name"], "arguments": arguments})));
            }
            "reasoning" => {
                let text = item["summary"][0]["text"].as_str().unwrap_or_default();
                for half in halves(text) {
                    events.push(place(json!({
                        "type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": half,
                    })));
                }
                events.push(place(json!({
                    "type": "response.reasoning_summary_text.done", "summary_index": 0, "text": text,
                })));
            }
            _ => {}
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    let end = if incomplete(spelling) { "response.incomplete" } else { "response.completed" };
    events.push(json!({"type": end, "response": whole(spelling)}));
    let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = json!(number);
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    numbered.collect()
}

/// The items of the answer. Reasoning is encrypted, as for clients that keep their own conversation.
fn output(spelling: &Spelling<'_>) -> Vec<Value> {
    let (answer, number) = (spelling.answer, spelling.number);
    let mut items = Vec::new();
    if !answer.reasoning.is_empty() {
        let summary = json!([{"type": "summary_text", "text": answer.reasoning}]);
        items.push(json!({
            "type": "reasoning", "id": format!("rs_{number}"), "summary": summary, "encrypted_content": "c2ln",
        }));
    }
    if !answer.text.is_empty() {
        let content = json!([{"type": "output_text", "text": answer.text, "annotations": []}]);
        items.push(json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": content,
        }));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        items.push(json!({
            "type": "function_call", "id": format!("fc_{number}_{index}"), "call_id": call.id, "name": call.name,
            "arguments": call.arguments.to_string(), "status": "completed",
        }));
    }
    items
}

fn response(spelling: &Spelling<'_>, status: &str) -> Value {
    json!({
        "id": format!("resp_{}", spelling.number),
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "metadata": {},
        "model": spelling.model,
        "output": [],
        "parallel_tool_calls": true,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    })
}

fn incomplete(spelling: &Spelling<'_>) -> bool {
    spelling.answer.finish != Finish::Natural
}

fn reason(spelling: &Spelling<'_>) -> &'static str {
    match spelling.answer.finish {
        Finish::Filter => "content_filter",
        _ => "max_output_tokens",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    })
}
