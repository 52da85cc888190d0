//! One entry of `history`.

use crate::chat;
use crate::prelude::*;

/// Parts of an assistant entry.
///
/// With function calling the calls are recorded. Without, the model wrote its action as text: the
/// action becomes a call named after its first word, and the text is what stands around it.
pub(super) fn answer(entry: &Value, record: u32) -> Vec<Part> {
    let mut parts = thinking(entry);
    let calls = entry["tool_calls"].as_array();
    let action = value::text(entry, "action").filter(|action| !action.trim().is_empty());
    match (calls.filter(|calls| !calls.is_empty()), action) {
        (Some(calls), _) => {
            parts.extend(chat::parts(&entry["content"]));
            parts.extend(calls.iter().enumerate().map(|(n, raw)| call(raw, n)));
        }
        (None, Some(action)) => {
            match value::text(entry, "thought") {
                Some("") => {}
                Some(thought) => parts.push(Part::text(thought).at("/thought")),
                None => {}
            }
            parts.push(text_action(action, record).at("/action"));
        }
        (None, None) => parts.extend(chat::parts(&entry["content"])),
    }
    parts
}

/// A call made of an action in text. Its id is its place, since the recorder has none.
pub(super) fn text_action(action: &str, record: u32) -> Part {
    let tool = action.split_whitespace().next().unwrap_or("action");
    Part::new(PartKind::Call(ToolCall {
        call_id: call_id(record),
        tool: tool.to_owned(),
        arguments: json!({ "action": action }).to_string(),
    }))
}

/// Id of the call that the entry `record` makes.
pub(super) fn call_id(record: u32) -> String {
    format!("action-{record}")
}

fn call(raw: &Value, index: usize) -> Part {
    let function = &raw["function"];
    Part::call(
        raw["id"].as_str().unwrap_or_default(),
        function["name"].as_str().unwrap_or_default(),
        value::shown(&function["arguments"]),
    )
    .at(format!("/tool_calls/{index}/function/arguments"))
}

fn thinking(entry: &Value) -> Vec<Part> {
    let blocks = entry["thinking_blocks"].as_array().into_iter().flatten();
    blocks
        .enumerate()
        .map(|(index, block)| {
            reasoning(
                block["thinking"].as_str().unwrap_or_default().to_owned(),
                value::string(block, "signature"),
            )
            .at(format!("/thinking_blocks/{index}/thinking"))
        })
        .collect()
}
