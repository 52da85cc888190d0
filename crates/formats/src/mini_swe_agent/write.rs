//! From the canonical form back into a trajectory.

use super::message;
use crate::chat;
use crate::prelude::*;
use crate::rewrite::{Dialect, rewrite};
use foldback_providers::wire::shared::made::stored_call;

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let session = view.session;
    let text = rewrite(view, &view.sent, &mut Trajectory { parsed: session.parsed() })?;
    if text != *session.source.text {
        losses
            .push("`extra` is left as it was: it still holds raw outputs and responses".to_owned());
    }
    Ok(text)
}

struct Trajectory<'a> {
    parsed: Parsed<'a>,
}

impl Dialect for Trajectory<'_> {
    fn edited(&self, at: PartPos, part: &Part, pointer: &str, edit: &PartEdit) -> Option<String> {
        let text = match &part.kind {
            // Text and command share one string in v1.
            PartKind::Text { .. } | PartKind::Call(_) => self.shared(at, part, &edit.text),
            _ => None,
        };
        if let Some(text) = &text {
            self.parsed.put(pointer, text);
        }
        Some(json_string(text.as_deref().unwrap_or(&edit.text)))
    }

    /// Beside the usage; a member of the message would go to the model.
    fn notes(&self) -> &'static str {
        "/extra"
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        messages.iter().map(stored).collect()
    }
}

impl Trajectory<'_> {
    /// The content of an answer in text with the text or the command replaced by `new`.
    fn shared(&self, at: PartPos, part: &Part, new: &str) -> Option<String> {
        let owner = self.parsed.messages.get(at.item)?;
        let raw = self.parsed.record_of(at.item)?;
        let chat::Content { text: whole, pointer, .. } = chat::content(&raw["content"]);
        if owner.role != Role::Assistant || part.pointer.as_deref() != Some(pointer.as_str()) {
            return None;
        }
        let (around, command) = message::fenced(&whole)?;
        let command = command.to_owned();
        Some(match &part.kind {
            PartKind::Call(_) => {
                let parsed: Option<Value> = serde_json::from_str(new).ok();
                let replaced = parsed.and_then(|arguments| value::string(&arguments, "command"));
                whole.replacen(&command, replaced.as_deref().unwrap_or(new), 1)
            }
            _ if around.is_empty() => return None,
            _ => format!("{new}\n\n```bash\n{command}\n```"),
        })
    }
}

/// A stored message of the shape of v2.
fn stored(message: &Message) -> Value {
    match message.role {
        Role::System => json!({ "role": "system", "content": message.said() }),
        Role::User => json!({ "role": "user", "content": message.shown_text() }),
        Role::Tool => {
            let result = message.parts.iter().find_map(Part::as_result);
            json!({
                "role": "tool",
                "content": result.map_or("", |result| &result.text),
                "tool_call_id": result.map_or("", |result| &result.call_id),
            })
        }
        Role::Assistant => {
            let calls = message.parts.iter().filter_map(Part::as_call);
            let calls: Vec<Value> = calls.map(stored_call).collect();
            let mut stored = json!({ "role": "assistant", "content": message.said() });
            if !calls.is_empty() {
                stored["tool_calls"] = Value::Array(calls);
            }
            let answer = message.answer.clone().unwrap_or_default();
            let mut response = json!({ "model": answer.model });
            if let Some(usage) = answer.usage {
                response["usage"] = json!({
                    "prompt_tokens": usage.input_total(),
                    "completion_tokens": usage.output_total(),
                    "total_tokens": usage.total_tokens(),
                    "prompt_tokens_details": { "cached_tokens": usage.cache_read },
                    "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
                    "cache_creation_input_tokens": usage.cache_write,
                });
            }
            stored["extra"] = json!({ "response": response });
            if let Some(at) = message.at {
                stored["extra"]["timestamp"] = json!(at as f64 / 1000.0);
            }
            stored
        }
    }
}

pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut messages = view.prompts(losses, |text| json!({ "role": "system", "content": text }));
    let sent = view.messages();
    let left_out = |part: &Part| {
        matches!(
            part.kind,
            PartKind::Reasoning { .. } | PartKind::File(_) | PartKind::Unknown { .. }
        )
    };
    let count =
        sent.iter().flat_map(|message| &message.parts).filter(|part| left_out(part)).count();
    if count > 0 {
        losses.push(format!("{count} part(s) of reasoning, files or unknown kinds"));
    }
    messages.extend(sent.iter().map(stored));
    let document = json!({
        "info": { "config": { "model": { "model_name": view.session.model } } },
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": view.session.id,
    });
    Ok(format!("{document:#}\n"))
}
