//! `cline`: a session of Cline's command line, `data/sessions/<id>/<id>.messages.json` of its home.
//!
//! A document with the messages in the form of Anthropic's API, each answer with its model and what it used. The format is
//! only read. `docs/cline.md` has the mapping.

use crate::prelude::*;
use foldback_providers::wire::anthropic;

pub(crate) const FORMAT: Format =
    Format::new("cline", "Cline CLI session (<id>.messages.json)", SIGNS, read);

const SIGNS: &[Sign] = &[
    Sign::new(
        100,
        &[
            Has("/sessionId"),
            Has("/messages/*/role"),
            Any(&[Has("/messages/*/metrics"), Has("/messages/*/modelInfo")]),
        ],
    ),
    Sign::new(
        90,
        &[Has("/sessionId"), Has("/messages/*/role"), Any(&[Has("/origin/source"), Has("/agent")])],
    ),
];

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let id = value::string(&root, "sessionId");
    let mut out = SessionBuilder::document(text, "/messages", id, FORMAT.id)?;
    if let Some(system) = value::filled(&root, "system_prompt") {
        out.system(system);
    }
    let mut reader = Reader { out, running: false };
    for (record, message) in (0u32..).zip(value::list(&root, "messages")) {
        reader.message(record, message);
    }
    only(reader.out.finish_run())
}

struct Reader {
    out: SessionBuilder,
    /// Whether the turn was begun.
    running: bool,
}

impl Reader {
    fn message(&mut self, record: u32, raw: &Value) {
        match value::text(raw, "role") {
            Some("assistant") => {
                let mut parts = Vec::new();
                for (at, block) in blocks(&raw["content"]) {
                    parts.push(self.part(record, block, &at));
                }
                self.out.join(&mut parts);
                self.running = parts.iter().any(|part| part.as_call().is_some());
                let message = self.push(record, raw, Role::Assistant, parts);
                message.answer = Some(Answer {
                    usage: COUNTS.any(&raw["metrics"]),
                    model: value::text_at(raw, "/modelInfo/id").map(str::to_owned),
                    provider: value::text_at(raw, "/modelInfo/provider").map(str::to_owned),
                    ended: message.at,
                    ..Answer::default()
                });
            }
            Some("user") => {
                let (mut said, mut answered) = (Vec::new(), false);
                for (at, block) in blocks(&raw["content"]) {
                    if value::text(block, "type") == Some("tool_result") {
                        let part = self.result(block, &at);
                        self.push(record, raw, Role::Tool, vec![part]);
                        answered = true;
                    } else {
                        said.push(self.part(record, block, &at));
                    }
                }
                if !said.is_empty() {
                    let mid_turn = std::mem::replace(&mut self.running, true) || answered;
                    self.push(record, raw, Role::User, said).mid_turn = mid_turn;
                }
            }
            role => self.out.unknown_role(format!("/messages/{record}/role"), role),
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.out.push_named(record, value::filled(raw, "id"), role, parts);
        message.at = value::millis(raw, "/ts");
        message
    }

    fn part(&mut self, record: u32, block: &Value, at: &str) -> Part {
        if let Some(text) = block.as_str() {
            return Part::text(text).at(at);
        }
        let kind = value::text(block, "type").unwrap_or_default();
        anthropic::part(block, at)
            .unwrap_or_else(|| self.out.unknown_at(record, at, "content block", kind, block))
    }

    /// A result: blocks of text and images, or what a tool gave for each of its commands, which is sent as JSON.
    fn result(&mut self, block: &Value, at: &str) -> Part {
        let id = value::text(block, "tool_use_id").unwrap_or_default();
        let tool = value::text(block, "name").unwrap_or_default();
        let failed = value::flag(block, "is_error");
        let content = &block["content"];
        let is_block = |item: &Value| value::text(item, "type").is_some();
        let items = value::items(content);
        let (text, media) = match content {
            Value::Array(_) if items.iter().all(is_block) => {
                let texts: Vec<&str> =
                    items.iter().filter_map(|item| value::text(item, "text")).collect();
                let images = items.iter().filter(|item| value::text(item, "type") == Some("image"));
                (texts.join("\n"), images.map(anthropic::media).collect())
            }
            content => (value::shown(content), Vec::new()),
        };
        self.out.result(id, tool, failed, text, media).at(format!("{at}/content"))
    }
}

/// The blocks of a content with their pointers; a text alone is one.
fn blocks(content: &Value) -> Vec<(String, &Value)> {
    match content {
        Value::Array(blocks) => {
            let places = blocks.iter().enumerate();
            places.map(|(index, block)| (format!("/content/{index}"), block)).collect()
        }
        Value::String(_) => vec![("/content".to_owned(), content)],
        _ => Vec::new(),
    }
}

/// The input holds what the cache did.
const COUNTS: Counts = Counts {
    input: &["/inputTokens"],
    cache_read: &["/cacheReadTokens"],
    cache_write: &["/cacheWriteTokens"],
    output: &["/outputTokens"],
    ..Counts::NONE
};
