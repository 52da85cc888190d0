//! One entry of `history`.

use crate::chat;
use crate::prelude::*;

/// Parts of an assistant entry.
///
/// With function calling the calls are recorded. Without, the model wrote its action as text: the
/// action becomes a call named after its first word, and the text is what stands around it.
pub(super) fn answer(entry: &Value, record: u32) -> Vec<Part> {
    let mut parts = thinking(entry);
    let calls = value::list(entry, "tool_calls");
    let action = value::text(entry, "action").filter(|action| !action.trim().is_empty());
    match action.filter(|_| calls.is_empty()) {
        Some(action) => {
            let thought = value::filled(entry, "thought");
            parts.extend(thought.map(|thought| Part::text(thought).at("/thought")));
            parts.push(text_action(action, record).at("/action"));
        }
        None => {
            parts.extend(chat::parts(&entry["content"]));
            parts.extend(calls.iter().enumerate().map(|(n, raw)| chat::call(raw, n)));
        }
    }
    parts
}

/// A call made of an action in text. Its id is its place, since the recorder has none.
pub(super) fn text_action(action: &str, record: u32) -> Part {
    let tool = action.split_whitespace().next().unwrap_or("action");
    Part::call(call_id(record), tool, json!({ "action": action }).to_string())
}

/// Id of the call that the entry `record` makes.
pub(super) fn call_id(record: u32) -> String {
    format!("action-{record}")
}

fn thinking(entry: &Value) -> Vec<Part> {
    let blocks = value::list(entry, "thinking_blocks").iter().enumerate();
    let thought = |(index, block): (usize, &Value)| {
        let text = value::text(block, "thinking").unwrap_or_default();
        reasoning(text, value::string(block, "signature"))
            .at(format!("/thinking_blocks/{index}/thinking"))
    };
    blocks.map(thought).collect()
}
