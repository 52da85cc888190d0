//! From the canonical form back into a trajectory.

use crate::prelude::*;
use crate::rewrite::{Dialect, rewrite};

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let session = view.session;
    let text = rewrite(view, &view.sent, &mut Trajectory { parsed: session.parsed() })?;
    if text != *session.source.text {
        losses.push(
            "`trajectory` is left as it was: its steps still hold the original actions and \
             observations"
                .to_owned(),
        );
    }
    Ok(text)
}

struct Trajectory<'a> {
    parsed: Parsed<'a>,
}

impl Dialect for Trajectory<'_> {
    fn changes(&self, at: PartPos, part: &Part, edit: Option<&PartEdit>) -> Vec<(String, Change)> {
        let (Some(edit), Some(pointer)) = (edit, &part.pointer) else {
            return Vec::new();
        };
        let set = |pointer: &str, text: &str| (pointer.to_owned(), Change::Set(json_string(text)));
        match (&part.kind, pointer.as_str()) {
            _ if !has_text(part) => Vec::new(),
            // Text actions stand twice in an entry: apart, and in the content as the model wrote it.
            (_, "/thought" | "/action") => {
                let new = match edited_action(&edit.text) {
                    Some(action) if pointer == "/action" => action,
                    _ => edit.text.to_string(),
                };
                let mut changes = vec![set(pointer, &new)];
                changes.extend(
                    self.content_with(at, pointer, &new).map(|content| set("/content", &content)),
                );
                changes
            }
            _ => vec![set(pointer, &edit.text)],
        }
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        messages.iter().map(entry).collect()
    }
}

impl Trajectory<'_> {
    /// The content of an entry with the text at `pointer` replaced.
    fn content_with(&self, at: PartPos, pointer: &str, new: &str) -> Option<String> {
        let entry = self.parsed.record_of(at.item)?;
        let old = entry.pointer(pointer)?.as_str()?;
        let content = value::text(&entry, "content")?;
        let start = match pointer {
            "/thought" => content.find(old)?,
            _ => content.rfind(old)?,
        };
        let content = format!("{}{new}{}", &content[..start], &content[start + old.len()..]);
        self.parsed.put("/content", &content);
        Some(content)
    }
}

/// The action in the arguments of a call that was made from one.
fn edited_action(arguments: &str) -> Option<String> {
    let parsed: Value = serde_json::from_str(arguments).ok()?;
    value::string(&parsed, "action")
}

/// An entry of `history` for a message.
fn entry(message: &Message) -> Value {
    let agent = message.agent.as_deref().unwrap_or("main");
    let said = message.said();
    match message.role {
        Role::System => json!({ "role": "system", "content": said, "agent": agent }),
        Role::User => json!({
            "role": "user",
            "content": message.shown_text(),
            "agent": agent,
            "message_type": "observation",
        }),
        Role::Tool => {
            let result = message.parts.iter().find_map(Part::as_result);
            json!({
                "role": "tool",
                "content": result.map_or("", |result| &result.text),
                "agent": agent,
                "message_type": "observation",
                "tool_call_ids": [result.map_or("", |result| &result.call_id)],
            })
        }
        Role::Assistant => {
            let calls = message.parts.iter().filter_map(Part::as_call);
            let calls: Vec<Value> = calls
                .map(|call| {
                    json!({
                        "function": { "name": call.tool, "arguments": call.arguments },
                        "id": call.call_id,
                        "type": "function",
                    })
                })
                .collect();
            let action = message.parts.iter().find_map(Part::as_call);
            let mut entry = json!({
                "role": "assistant",
                "content": said,
                "thought": said,
                "action": action.map_or("", |call| &call.arguments),
                "agent": agent,
                "message_type": "action",
            });
            if !calls.is_empty() {
                entry["tool_calls"] = Value::Array(calls);
            }
            entry
        }
    }
}

pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    losses.push("times and usage of single calls: the format has none".to_owned());
    let mut history = view.prompts(losses, |text| {
        json!({
            "role": "system", "content": text, "agent": "main", "message_type": "system_prompt",
        })
    });
    let sent = view.messages();
    let reasoning = |part: &Part| matches!(part.kind, PartKind::Reasoning { .. });
    if sent.iter().any(|message| message.parts.iter().any(reasoning)) {
        losses.push("reasoning".to_owned());
    }
    history.extend(sent.iter().map(entry));
    let document = json!({
        "environment": "main",
        "trajectory": [],
        "history": history,
        "info": {},
        "replay_config": { "agent": {
            "name": view.session.id,
            "model": { "name": view.session.model },
        } },
    });
    Ok(format!("{document:#}\n"))
}
