//! Anthropic messages, <https://docs.anthropic.com/en/api/messages> and `/messages-streaming`.

use super::{Spelling, halves};
use crate::reply::{Finish, Told, Usage};
use serde_json::{Value, json};

pub(super) fn whole(spelling: &Spelling<'_>) -> Value {
    let answer = spelling.answer;
    let mut content = Vec::new();
    if !answer.reasoning.is_empty() {
        content
            .push(json!({"type": "thinking", "thinking": answer.reasoning, "signature": "c2ln"}));
    }
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text}));
    }
    for call in &answer.calls {
        let id = &call.id;
        content.push(
            json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}),
        );
    }
    let mut body = message(spelling);
    body["content"] = json!(content);
    body["stop_reason"] = json!(finish(spelling));
    if let Some(figures) = spelling.usage {
        body["usage"] = spelling.told(usage(figures, figures.output));
    }
    body
}

pub(super) fn pieces(spelling: &Spelling<'_>) -> Vec<String> {
    let answer = spelling.answer;
    let mut start = message(spelling);
    if let Some(figures) = spelling.usage {
        match spelling.told {
            Told::All | Told::Nulls => start["usage"] = usage(figures, 1),
            Told::Zeros => start["usage"] = spelling.told(usage(figures, 1)),
            Told::Output => {}
        }
    }
    let mut blocks = Vec::new();
    if !answer.reasoning.is_empty() {
        let deltas = halves(&answer.reasoning).into_iter();
        let deltas = deltas.map(|half| json!({"type": "thinking_delta", "thinking": half}));
        let signature = [json!({"type": "signature_delta", "signature": "c2ln"})];
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        blocks.push((block, deltas.chain(signature).collect::<Vec<_>>()));
    }
    if !answer.text.is_empty() {
        let deltas = halves(&answer.text).into_iter();
        let deltas = deltas.map(|half| json!({"type": "text_delta", "text": half}));
        blocks.push((json!({"type": "text", "text": ""}), deltas.collect()));
    }
    for call in &answer.calls {
        let arguments = call.arguments.to_string();
        let deltas = halves(&arguments).into_iter();
        let deltas = deltas.map(|half| json!({"type": "input_json_delta", "partial_json": half}));
        let block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        blocks.push((block, deltas.collect()));
    }
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, (block, deltas)) in blocks.into_iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let deltas = deltas.into_iter();
        events.extend(
            deltas.map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let mut end = json!({"type": "message_delta", "delta": {"stop_reason": finish(spelling), "stop_sequence": null}});
    if let Some(figures) = spelling.usage {
        end["usage"] = match spelling.told {
            Told::All => json!({"output_tokens": figures.output}),
            _ => spelling.told(usage(figures, figures.output)),
        };
    }
    events.push(end);
    events.push(json!({"type": "message_stop"}));
    let events = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    events.collect()
}

pub(super) fn overflow(window: u64, input: u64, output: u64) -> Value {
    let message = if input > window {
        format!("prompt is too long: {input} tokens > {window} maximum")
    } else {
        format!(
            "input length and `max_tokens` exceed context limit: {input} + {output} > {window}, decrease \
             input length or `max_tokens` and try again"
        )
    };
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
}

fn message(spelling: &Spelling<'_>) -> Value {
    json!({
        "id": format!("msg_{}", spelling.number),
        "type": "message",
        "role": "assistant",
        "model": spelling.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    })
}

fn finish(spelling: &Spelling<'_>) -> &'static str {
    match spelling.answer.finish {
        Finish::Filter => "refusal",
        _ => spelling.finish("end_turn", "tool_use", "max_tokens"),
    }
}

/// Cached tokens are not part of `input_tokens` here.
fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached + usage.written),
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.written,
        "output_tokens": output,
    })
}
