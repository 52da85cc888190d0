//! Other libraries on the same session.

use crate::shape;
use foldback_core::PartKind;
use foldback_core::log::{Message, Role};
use serde_json::{Value, json};
use yoagent::types::AgentMessage;

/// The generated session in yoagent's own message type.
///
/// # Panics
///
/// If yoagent does not take what is written for it here.
pub fn yoagent_messages(turns: usize) -> Vec<AgentMessage> {
    shape::messages(turns)
        .iter()
        .map(|message| match serde_json::from_value(yoagent_json(message)) {
            Ok(message) => message,
            Err(error) => panic!("{}: {error}", message.id),
        })
        .collect()
}

fn yoagent_json(message: &Message) -> Value {
    let content: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
            PartKind::Result(result) => Some(json!({ "type": "text", "text": result.text })),
            PartKind::Call(call) => Some(json!({
                "type": "toolCall",
                "id": call.call_id,
                "name": call.tool,
                "arguments": call.arguments_value(),
            })),
            _ => None,
        })
        .collect();
    let result = message.parts.iter().find_map(|part| part.as_result());
    match (message.role, result) {
        (Role::Tool, Some(result)) => json!({
            "role": "toolResult",
            "toolCallId": result.call_id,
            "toolName": result.tool,
            "content": content,
            "isError": false,
            "timestamp": 0,
        }),
        (Role::Assistant, _) => json!({
            "role": "assistant",
            "content": content,
            "stopReason": if message.call_ids().next().is_some() { "toolUse" } else { "stop" },
            "model": "",
            "provider": "",
            "usage": {},
            "timestamp": 0,
        }),
        _ => json!({ "role": "user", "content": content, "timestamp": 0 }),
    }
}
