//! From message lists to the canonical form.

use super::{FORMAT, is_server_block};
use crate::bodies::{Body, read_all};
use crate::ids::{Calls, Ids};
use crate::session::Boundary;
use crate::{ReadError, Session, pairing, value};
use foldback_core::SegmentKind;
use foldback_core::log::{
    Answer, Finish, Media, Message, Part, PartKind, ResultStatus, Role, ToolResult, Usage,
};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    read_all(text, conversation)
}

fn conversation(body: &Body<'_>) -> Result<Session, ReadError> {
    let mut reader = Reader {
        session: body.session(FORMAT.id)?,
        ids: Ids::default(),
        calls: Calls::default(),
        list: body.list,
    };
    match body.root.get("system") {
        Some(Value::Array(blocks)) => {
            for text in blocks.iter().filter_map(|block| value::text(block, "text")) {
                reader.session.frame.push_text(SegmentKind::System, text);
            }
        }
        Some(Value::String(text)) => reader.session.frame.push_text(SegmentKind::System, text),
        _ => {}
    }
    for (record, message) in body.messages().iter().enumerate() {
        reader.record(record as u32, message);
    }
    let mut session = reader.session;
    pairing::join(&mut session);
    Ok(session)
}

struct Reader {
    session: Session,
    ids: Ids,
    calls: Calls,
    list: &'static str,
}

impl Reader {
    fn record(&mut self, record: u32, message: &Value) {
        let role = match value::text(message, "role") {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(other) => {
                self.session.warn(
                    "unknown-role",
                    format!("{}/{record}/role", self.list),
                    format!("there is no role `{other}` in this format; left out"),
                );
                return;
            }
            None => {
                self.session.warn(
                    "damaged-line",
                    format!("{}/{record}", self.list),
                    "a message needs an object with a `role`; left out",
                );
                return;
            }
        };
        let blocks = message.get("content").and_then(Value::as_array);
        match role {
            Role::User => self.user(record, message, blocks),
            _ => {
                let parts = self.blocks(record, message, blocks);
                if role == Role::System && self.session.messages.is_empty() {
                    let text: Vec<_> = parts.iter().map(Part::shown).collect();
                    let text = text.join("\n");
                    self.session.frame.push_text(SegmentKind::System, text);
                    return;
                }
                let mut out = self.message(record, role, parts);
                if role == Role::Assistant {
                    out.answer = Some(answer(message));
                }
                self.push(out);
            }
        }
    }

    /// A user message: its tool results become messages, and so does what stands between them. Text
    /// beside a result was sent while the loop was running.
    fn user(&mut self, record: u32, message: &Value, blocks: Option<&Vec<Value>>) {
        let is_result = |block: &Value| value::text(block, "type") == Some("tool_result");
        let Some(blocks) = blocks.filter(|blocks| blocks.iter().any(is_result)) else {
            let parts = self.blocks(record, message, blocks);
            let out = self.message(record, Role::User, parts);
            self.push(out);
            return;
        };
        let mut said: Vec<Part> = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            if !is_result(block) {
                said.push(self.block(record, index, block));
                continue;
            }
            self.beside_results(record, &mut said);
            let id = value::text(block, "tool_use_id").unwrap_or_default();
            let (text, media) = result_content(block.get("content"));
            let result = ToolResult {
                call_id: self.calls.result(id),
                status: if value::flag(block, "is_error") {
                    ResultStatus::Error
                } else {
                    ResultStatus::Completed
                },
                text,
                media,
                ..ToolResult::default()
            };
            let part = Part::new(PartKind::Result(result)).at(format!("/content/{index}/content"));
            let out = self.message(record, Role::Tool, vec![part]);
            self.push(out);
        }
        self.beside_results(record, &mut said);
    }

    fn beside_results(&mut self, record: u32, said: &mut Vec<Part>) {
        if !said.is_empty() {
            let mut out = self.message(record, Role::User, std::mem::take(said));
            out.mid_turn = true;
            self.push(out);
        }
    }

    fn blocks(&mut self, record: u32, message: &Value, blocks: Option<&Vec<Value>>) -> Vec<Part> {
        match (blocks, message.get("content")) {
            (Some(blocks), _) => blocks
                .iter()
                .enumerate()
                .map(|(index, block)| self.block(record, index, block))
                .collect(),
            (None, None | Some(Value::Null)) => Vec::new(),
            (None, Some(content)) => vec![Part::text(value::shown(content)).at("/content")],
        }
    }

    fn block(&mut self, record: u32, index: usize, block: &Value) -> Part {
        let pointer = format!("/content/{index}");
        let kind = value::text(block, "type").unwrap_or("");
        match kind {
            "text" => Part::text(value::string(block, "text").unwrap_or_default())
                .at(format!("{pointer}/text")),
            "thinking" => Part::new(PartKind::Reasoning {
                text: value::string(block, "thinking").unwrap_or_default(),
                opaque: value::string(block, "signature"),
            })
            .at(format!("{pointer}/thinking")),
            "redacted_thinking" => Part::new(PartKind::Reasoning {
                text: String::new(),
                opaque: value::string(block, "data"),
            })
            .at(pointer),
            "tool_use" => {
                let name = value::text(block, "name").unwrap_or_default();
                let id = self.calls.call(value::text(block, "id").unwrap_or(name));
                let input = block.get("input").map_or("{}".to_owned(), Value::to_string);
                Part::call(id, name, input).at(format!("{pointer}/input"))
            }
            "image" | "document" => Part::new(PartKind::File(media(block))).at(pointer),
            _ => {
                if kind == "compaction" {
                    self.session.boundaries.push(Boundary {
                        before: self.session.messages.len() + 1,
                        trigger: "provider".to_owned(),
                        kind: "summary".to_owned(),
                        tokens_before: None,
                        tokens_after: None,
                        original_kept: true,
                    });
                } else if !is_server_block(kind) {
                    self.session.warn(
                        "unknown-type",
                        format!("{}/{record}{pointer}", self.list),
                        format!("a block of type `{kind}`; kept as it is"),
                    );
                }
                Part::new(PartKind::Unknown { name: kind.to_owned(), raw: block.clone() })
                    .at(pointer)
            }
        }
    }

    fn message(&mut self, record: u32, role: Role, parts: Vec<Part>) -> Message {
        let mut message = Message::new(self.ids.unique(&format!("m{record}")), role, parts);
        message.record = Some(record);
        message
    }

    fn push(&mut self, message: Message) {
        self.session.messages.push(Arc::new(message));
    }
}

/// What a recorder noted beside the message: bodies as they are sent have none of it.
fn answer(message: &Value) -> Answer {
    Answer {
        usage: message.get("usage").and_then(usage),
        finish: value::text(message, "stop_reason").map(finish),
        model: value::string(message, "model"),
        ..Answer::default()
    }
}

/// The three input classes are disjoint as they come.
fn usage(recorded: &Value) -> Option<Usage> {
    let usage = Usage {
        uncached: value::count(recorded, "/input_tokens"),
        cache_read: value::count(recorded, "/cache_read_input_tokens"),
        cache_write: value::count(recorded, "/cache_creation_input_tokens"),
        output: value::count(recorded, "/output_tokens"),
        ..Usage::default()
    };
    (!usage.is_zero()).then_some(usage)
}

fn finish(name: &str) -> Finish {
    match name {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::ContentFilter,
        _ => Finish::Other,
    }
}

/// The content of a tool result as one text, and the files in it.
fn result_content(content: Option<&Value>) -> (String, Vec<Media>) {
    match content {
        None | Some(Value::Null) => (String::new(), Vec::new()),
        Some(Value::Array(blocks)) => {
            let is_file =
                |block: &&Value| matches!(value::text(block, "type"), Some("image" | "document"));
            let texts: Vec<String> = blocks
                .iter()
                .filter(|block| !is_file(block))
                .map(|block| value::string(block, "text").unwrap_or_else(|| value::shown(block)))
                .collect();
            (texts.join("\n"), blocks.iter().filter(is_file).map(media).collect())
        }
        Some(content) => (value::shown(content), Vec::new()),
    }
}

fn media(block: &Value) -> Media {
    let source = block.get("source").unwrap_or(&Value::Null);
    Media {
        mime: value::string(source, "media_type").unwrap_or_else(|| {
            match value::text(block, "type") {
                Some("image") => "image/*",
                _ => "application/octet-stream",
            }
            .to_owned()
        }),
        name: value::string(block, "title"),
        url: ["url", "data", "file_id"]
            .iter()
            .find_map(|key| value::string(source, key))
            .unwrap_or_default(),
    }
}
