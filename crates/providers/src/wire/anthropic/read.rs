//! Reads the protocol's messages.

use super::{COMPACTION, Used, is_server_block, service, used, web_searches};
use crate::wire::shared::messages::Messages;
use crate::wire::shared::parts::{file, redacted, signed_member, text_member, unknown};
use crate::wire::shared::usage::finish;
use crate::wire::shared::value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foldback_core::log::{Answer, Media, Message, Part, Role};
use serde_json::Value;

/// Reads the system prompt and the tools beside a list of messages.
pub(crate) fn frame(out: &mut Messages, root: &Value) {
    out.tools(root.get("tools").or_else(|| root.get("functions")));
    match root.get("system") {
        Some(Value::Array(blocks)) => {
            for text in blocks.iter().filter_map(|block| value::text(block, "text")) {
                out.system(text);
            }
        }
        Some(Value::String(text)) => out.system(text),
        _ => {}
    }
}

/// Reads records of the list at a JSON pointer.
pub(crate) fn records(out: Messages, list: &str, records: &[(u32, &Value)]) -> Messages {
    let mut reader = Reader { out, list };
    for (record, message) in records {
        reader.record(*record, message);
    }
    reader.out
}

/// Reads an answer, which is a message.
pub(super) fn answer(message: &Value) -> Option<Message> {
    let mut reader = Reader { out: Messages::default(), list: "" };
    reader.record(0, message);
    reader.out.messages.pop()
}

struct Reader<'a> {
    out: Messages,
    list: &'a str,
}

impl Reader<'_> {
    fn record(&mut self, record: u32, message: &Value) {
        let Some(role) = self.out.role(self.list, record, message) else { return };
        let role = match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            other => {
                let place = format!("{}/{record}/role", self.list);
                return self.out.unknown_role(place, other);
            }
        };
        let blocks = message.get("content").and_then(Value::as_array);
        match role {
            Role::User => {
                let parts = self.user(record, message, blocks);
                self.out.push_user(record, parts);
            }
            _ => {
                let parts = self.blocks(record, message, blocks);
                if role == Role::System && !self.out.has_begun() {
                    let text: Vec<_> = parts.iter().map(Part::shown).collect();
                    self.out.opening(text.join("\n"));
                    return;
                }
                let answer = (role == Role::Assistant).then(|| noted(message));
                self.out.push_unnamed(record, role, parts).answer = answer;
            }
        }
    }

    /// The parts of a user message. In a message of any other role, a result is an unknown block.
    fn user(&mut self, record: u32, message: &Value, blocks: Option<&Vec<Value>>) -> Vec<Part> {
        let Some(blocks) = blocks else { return self.blocks(record, message, None) };
        let part = |(index, block): (usize, &Value)| match value::text(block, "type") {
            Some("tool_result") => self.result(index, block),
            _ => self.block(record, index, block),
        };
        blocks.iter().enumerate().map(part).collect()
    }

    fn result(&mut self, index: usize, block: &Value) -> Part {
        let id = value::text(block, "tool_use_id").unwrap_or_default();
        let (text, media) = result_content(block.get("content"));
        let part = self.out.result(id, "", value::flag(block, "is_error"), text, media);
        part.at(format!("/content/{index}/content"))
    }

    fn blocks(&mut self, record: u32, message: &Value, blocks: Option<&Vec<Value>>) -> Vec<Part> {
        match (blocks, message.get("content")) {
            (Some(blocks), _) => blocks
                .iter()
                .enumerate()
                .map(|(index, block)| self.block(record, index, block))
                .collect(),
            (None, None | Some(Value::Null)) => Vec::new(),
            (None, Some(content)) => {
                let place = format!("{}/{record}/content", self.list);
                vec![self.out.whole_content(place, content).at("/content")]
            }
        }
    }

    fn block(&mut self, record: u32, index: usize, block: &Value) -> Part {
        let pointer = format!("/content/{index}");
        match part(block, &pointer) {
            Some(mut part) => {
                self.out.join(std::slice::from_mut(&mut part));
                part
            }
            None => {
                let kind = value::text(block, "type").unwrap_or_default();
                let place = format!("{}/{record}{pointer}", self.list);
                self.out.unknown_part(place, "a block of type", kind, block).at(pointer)
            }
        }
    }
}

/// A block at the pointer `at`, calls under their recorded ids. `None` for the results of tools that run on this side, and for
/// types that are not known.
pub fn part(block: &Value, at: &str) -> Option<Part> {
    Some(match value::text(block, "type")? {
        "text" => text_member(block, "text", at),
        "thinking" => signed_member(block, "thinking", value::string(block, "signature"), at),
        "redacted_thinking" => redacted(value::string(block, "data")).at(at),
        "tool_use" => {
            let name = value::text(block, "name").unwrap_or_default();
            let input = match &block["input"] {
                Value::Null => "{}".to_owned(),
                // Text stands for arguments that never became whole.
                input => value::shown(input),
            };
            let id = value::text(block, "id").unwrap_or(name);
            Part::call(id, name, input).at(format!("{at}/input"))
        }
        "image" | "document" if is_file(block) => file(media(block)).at(at),
        // The text of such a document is in its own blocks.
        kind if matches!(kind, "image" | "document" | COMPACTION) || is_server_block(kind) => {
            unknown(kind, block).at(at)
        }
        _ => return None,
    })
}

/// What a recorder noted beside the message. Bodies as they are sent have no such notes.
fn noted(message: &Value) -> Answer {
    let Used { usage, compaction, rounds, contradicts: _ } = used(message);
    Answer {
        usage,
        compaction,
        rounds,
        service: service(message),
        web_searches: web_searches(message),
        finish: value::text(message, "stop_reason").map(finish),
        model: value::string(message, "model"),
        ..Answer::default()
    }
}

/// The text of a document that is given as a text or as blocks of text only.
fn document_text(source: &Value) -> Option<String> {
    match (value::text(source, "type")?, source.get("content")) {
        ("text", _) => value::string(source, "data"),
        ("content", Some(Value::String(text))) => Some(text.clone()),
        ("content", Some(Value::Array(blocks))) => {
            let texts: Option<Vec<&str>> =
                blocks.iter().map(|block| value::text(block, "text")).collect();
            texts.map(|texts| texts.join("\n"))
        }
        _ => None,
    }
}

/// The content of a tool result as one text, and the files in it.
fn result_content(content: Option<&Value>) -> (String, Vec<Media>) {
    match content {
        None | Some(Value::Null) => (String::new(), Vec::new()),
        Some(Value::Array(blocks)) => {
            let texts: Vec<String> = blocks
                .iter()
                .filter(|block| !is_file(block))
                .map(|block| value::string(block, "text").unwrap_or_else(|| value::shown(block)))
                .collect();
            (texts.join("\n"), blocks.iter().filter(|block| is_file(block)).map(media).collect())
        }
        Some(content) => (value::shown(content), Vec::new()),
    }
}

/// Whether a block is a file: an image or a document, as a link or with its bytes.
pub(super) fn is_file(block: &Value) -> bool {
    matches!(value::text(block, "type"), Some("image" | "document"))
        && block.get("source").is_some_and(|source| place(source).is_some())
}

/// Where a file is, or its bytes.
fn place(source: &Value) -> Option<String> {
    value::first_string(source, &["url", "data", "file_id"])
}

/// The file of a block. A document that is given as text becomes a text file.
pub fn media(block: &Value) -> Media {
    let source = block.get("source").unwrap_or(&Value::Null);
    if let Some(text) = document_text(source) {
        return Media {
            mime: value::string(source, "media_type").unwrap_or_else(|| "text/plain".to_owned()),
            name: value::string(block, "title"),
            url: format!("data:text/plain;base64,{}", STANDARD.encode(text)),
        };
    }
    Media {
        mime: value::string(source, "media_type").unwrap_or_else(|| {
            match value::text(block, "type") {
                Some("image") => "image/*",
                _ => "application/octet-stream",
            }
            .to_owned()
        }),
        name: value::string(block, "title"),
        url: place(source).unwrap_or_default(),
    }
}
