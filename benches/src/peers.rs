//! Other libraries on the same session.

use crate::shape;
use foldback_core::PartKind;
use foldback_core::log::{Message, Role};
use yoagent::types::{AgentMessage, Content, Message as Theirs, StopReason, Usage};

/// The generated session in yoagent's own message type, nothing of it counted: yoagent keeps no counts
/// in its messages.
pub fn yoagent_messages(turns: usize) -> Vec<AgentMessage> {
    shape::messages(turns).iter().map(|message| yoagent_message(message).into()).collect()
}

/// Made with yoagent's constructors, not read from JSON, so that a version that asks for more does not
/// compile instead of failing when it runs.
fn yoagent_message(message: &Message) -> Theirs {
    let text = |text: &str| Content::Text { text: text.to_owned() };
    let content: Vec<Content> = message
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Text { text: said, .. } => Some(text(said)),
            PartKind::Result(result) => Some(text(&result.text)),
            PartKind::Call(call) => {
                Some(Content::tool_call(&*call.call_id, &*call.tool, call.arguments_value()))
            }
            _ => None,
        })
        .collect();
    let result = message.parts.iter().find_map(|part| part.as_result());
    match (message.role, result) {
        (Role::Tool, Some(result)) => Theirs::ToolResult {
            tool_call_id: result.call_id.to_string(),
            tool_name: result.tool.to_string(),
            content,
            is_error: false,
            timestamp: 0,
        },
        (Role::Assistant, _) => {
            let calls = message.call_ids().next().is_some();
            let reason = if calls { StopReason::ToolUse } else { StopReason::Stop };
            Theirs::assistant(content, reason, "", "", Usage::default()).with_timestamp(0)
        }
        _ => Theirs::User { content, timestamp: 0 },
    }
}
