//! Newly written lines: for sessions of other formats, and for what a strategy added.

use crate::jsonl::uuid;
use crate::prelude::*;
use foldback_providers::wire::anthropic::{block, is_server_block};

/// What every line says about its session.
pub(super) struct Envelope<'a> {
    /// Its id here: of a subagent's, that of the file's session with a key behind it.
    pub session: &'a str,
    pub model: &'a str,
    /// The subagent whose conversation it is.
    pub agent: Option<String>,
}

/// Where a new line hangs and when it was written.
pub(super) struct Spot {
    pub parent: Option<String>,
    /// RFC 3339, as the lines around it have it.
    pub timestamp: String,
}

impl Envelope<'_> {
    /// The id of a new line: deterministic, and unique in a file.
    pub(super) fn id(&self, message: &str) -> String {
        uuid(&format!("claude-code/{}/{message}", self.session))
    }

    fn line(&self, kind: &str, uuid: &str, spot: &Spot) -> Value {
        let mut line = json!({
            "parentUuid": spot.parent,
            "isSidechain": self.agent.is_some(),
            "userType": "external",
            "cwd": "",
            "sessionId": self.session.split('/').next(),
            "version": "",
            "gitBranch": "",
            "type": kind,
            "uuid": uuid,
            "timestamp": spot.timestamp,
        });
        if let Some(agent) = &self.agent {
            line["agentId"] = json!(agent);
        }
        line
    }

    /// The line that marks a compaction; it begins a chain of its own.
    pub(super) fn boundary(&self, uuid: &str, timestamp: &str) -> Value {
        let spot = Spot { parent: None, timestamp: timestamp.to_owned() };
        let mut line = self.line("system", uuid, &spot);
        line["subtype"] = json!("compact_boundary");
        line["content"] = json!("Conversation compacted");
        line["isMeta"] = json!(false);
        line["level"] = json!("info");
        line["compactMetadata"] = json!({ "trigger": "auto" });
        line
    }

    /// A user line of one text that the user did not write.
    pub(super) fn inserted(&self, uuid: &str, spot: &Spot, text: &str, summary: bool) -> Value {
        let mut line = self.line("user", uuid, spot);
        line["message"] = json!({ "role": "user", "content": text });
        if summary {
            line["isVisibleInTranscriptOnly"] = json!(true);
            line["isCompactSummary"] = json!(true);
        } else {
            line["isMeta"] = json!(true);
        }
        line
    }

    /// The line of a message from another format; `None` if nothing of it has a place. What is lost goes to `losses`.
    pub(super) fn message(
        &self,
        message: &Message,
        spot: &Spot,
        losses: &mut Vec<String>,
    ) -> Option<Value> {
        let uuid = self.id(&message.id);
        let mut line = match message.role {
            Role::Assistant => {
                let mut line = self.line("assistant", &uuid, spot);
                line["message"] = self.answer(message, losses);
                return Some(line)
                    .filter(|line| !value::list_at(line, "/message/content").is_empty());
            }
            Role::User | Role::System | Role::Tool => self.line("user", &uuid, spot),
        };
        let meta = message.role == Role::System
            || message
                .parts
                .iter()
                .any(|part| matches!(part.kind, PartKind::Text { synthetic: true, .. }));
        if meta {
            line["isMeta"] = json!(true);
        }
        let content = match message.parts.as_slice() {
            [Part { kind: PartKind::Text { text, .. }, .. }] => json!(text),
            parts => match blocks(parts, losses) {
                blocks if blocks.is_empty() => return None,
                blocks => Value::Array(blocks),
            },
        };
        line["message"] = json!({ "role": "user", "content": content });
        Some(line)
    }

    fn answer(&self, message: &Message, losses: &mut Vec<String>) -> Value {
        let answer = message.answer.clone().unwrap_or_default();
        let usage = answer.usage.unwrap_or_default();
        let has_calls = message.call_ids().next().is_some();
        let mut message = json!({
            "model": answer.model.as_deref().unwrap_or(self.model),
            "id": format!("msg_{}", self.id(&message.id).replace('-', "")),
            "type": "message",
            "role": "assistant",
            "content": blocks(&message.parts, losses),
            "stop_reason": if has_calls { "tool_use" } else { "end_turn" },
            "stop_sequence": null,
            "usage": {
                "input_tokens": usage.uncached,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "output_tokens": usage.output_total(),
            },
        });
        if usage.cache_write_1h > 0 {
            message["usage"]["cache_creation"] = json!({
                "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_1h,
                "ephemeral_1h_input_tokens": usage.cache_write_1h,
            });
        }
        message
    }
}

fn blocks(parts: &[Part], losses: &mut Vec<String>) -> Vec<Value> {
    let mut out = Vec::new();
    for part in parts {
        match &part.kind {
            PartKind::Unknown { name, .. } if !is_server_block(name) => {
                losses.push(format!("a part of the unknown kind `{name}` was left out"));
            }
            _ => out.extend(block(part)),
        }
    }
    out
}

/// The JSON text that replaces an edited part.
pub(super) fn edited(part: &Part, text: &str) -> Option<String> {
    match &part.kind {
        PartKind::Text { .. } | PartKind::Reasoning { .. } | PartKind::Result(_) => {
            Some(json_string(text))
        }
        // The provider takes an object alone.
        PartKind::Call(_) => Some(match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(_)) => text.to_owned(),
            _ => json!({ "input": text }).to_string(),
        }),
        PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => None,
    }
}
