//! Reads items into messages.

use super::COUNTS;
use super::item::{self, Item};
use crate::wire::shared::messages::{Messages, ProblemKind};
use crate::wire::shared::parts::unknown;
use crate::wire::shared::usage::service;
use crate::wire::shared::value;
use foldback_core::log::{
    Answer, COMPACTIONS, Finish, Message, Part, PartKind, ResultStatus, Role,
};
use serde_json::Value;

/// An item with the index of its record and its place.
pub type Placed<'a> = (u32, String, &'a Value);

/// Reads items, and the instructions and tools of their body `root`.
pub fn read<'a>(root: &Value, items: impl IntoIterator<Item = Placed<'a>>) -> Messages {
    let mut out = Messages::default();
    frame(&mut out, root);
    let mut out = records(out, items);
    if root.get("output").is_some_and(Value::is_array) {
        let last = out.messages.iter_mut().rev().find(|message| message.is_answer());
        if let Some(answer) = last.and_then(|message| message.answer.as_mut()) {
            complete(answer, root);
        }
    }
    out
}

/// Reads instructions and tools.
pub(crate) fn frame(out: &mut Messages, root: &Value) {
    out.tools(root.get("tools"));
    match root.get("instructions") {
        Some(Value::String(text)) if !text.is_empty() => out.system(text.as_str()),
        // A stored response has them as items.
        Some(Value::Array(items)) => {
            for item in items {
                if let Item::Developer(parts) | Item::User(parts) = item::read(item, "") {
                    parts.iter().for_each(|part| out.system(part.shown()));
                }
            }
        }
        _ => {}
    }
}

/// Reads items.
pub(crate) fn records<'a>(out: Messages, items: impl IntoIterator<Item = Placed<'a>>) -> Messages {
    let mut reader = Reader { out, open: None };
    for (record, place, item) in items {
        reader.item(record, &place, item);
    }
    reader.out
}

#[derive(Default)]
struct Reader {
    out: Messages,
    /// The answer that items are being added to.
    open: Option<usize>,
}

impl Reader {
    fn item(&mut self, record: u32, place: &str, item: &Value) {
        if let Value::String(text) = item {
            self.push(record, item, Role::User, vec![Part::text(text.as_str()).at("")]);
            return;
        }
        // The short form of a message has no type.
        let typed;
        let item = if item.get("type").is_none() && item.get("role").is_some() {
            let mut full = item.clone();
            full["type"] = "message".into();
            typed = full;
            &typed
        } else {
            item
        };
        let kind = value::text(item, "type").unwrap_or_default();
        if COMPACTIONS.contains(&kind) {
            // What the API's own compaction replaced: opaque, and not edited.
            self.push(record, item, Role::Assistant, vec![unknown(kind, item).at("")]);
            return;
        }
        match item::read(item, "") {
            Item::Answer(parts) => self.answer(record, item, parts),
            Item::User(parts) => {
                self.push(record, item, Role::User, parts);
            }
            Item::Developer(parts) => {
                if let Some(parts) = self.out.opening_system(parts) {
                    self.push(record, item, Role::System, parts);
                }
            }
            Item::Output(mut part) => {
                if let PartKind::Result(result) = &mut part.kind {
                    result.call_id = self.out.calls.result(&result.call_id);
                    if value::text(item, "status") == Some("incomplete") {
                        result.status = ResultStatus::Error;
                    }
                }
                self.push(record, item, Role::Tool, vec![part]);
            }
            Item::Ignored => {}
            Item::Unknown(kind) => {
                let detail = format!("an item of type `{kind}`; left out");
                self.out.problem(ProblemKind::UnknownType, place, detail);
            }
        }
    }

    fn push(&mut self, record: u32, item: &Value, role: Role, parts: Vec<Part>) -> usize {
        self.open = None;
        let wanted = value::string(item, "id").unwrap_or_else(|| format!("item-{record}"));
        self.out.push(record, &wanted, role, parts);
        self.out.messages.len() - 1
    }

    /// Adds an item to the answer of its response: everything up to the next output or message.
    fn answer(&mut self, record: u32, item: &Value, mut parts: Vec<Part>) {
        self.out.join(&mut parts);
        for part in &mut parts {
            part.source_record = Some(record);
        }
        let index = match self.open {
            Some(index) => index,
            None => {
                let index = self.push(record, item, Role::Assistant, Vec::new());
                self.out.messages[index].answer = Some(Answer::default());
                self.open = Some(index);
                index
            }
        };
        self.out.messages[index].parts.extend(parts);
    }
}

/// What a response says about its request.
pub(super) fn complete(answer: &mut Answer, root: &Value) {
    answer.usage = root.get("usage").and_then(|usage| COUNTS.any(usage));
    answer.model = value::string(root, "model");
    answer.service = service(value::text(root, "service_tier"));
    let seconds = |key: &str| root.get(key)?.as_f64().map(|time| (time * 1000.0) as i64);
    answer.started = seconds("created_at");
    answer.ended = seconds("completed_at");
    let reason = value::text_at(root, "/incomplete_details/reason");
    answer.finish = match (value::text(root, "status"), reason) {
        (Some("incomplete"), Some("content_filter")) => Some(Finish::ContentFilter),
        (Some("incomplete"), _) => Some(Finish::Length),
        (Some("failed" | "cancelled"), _) => Some(Finish::Error),
        _ => None,
    };
}

/// Reads the items of a response as one message.
pub(super) fn answer(root: &Value) -> Option<Message> {
    let mut reader = Reader::default();
    for (record, item) in (0u32..).zip(value::list(root, "output")) {
        reader.item(record, "/output", item);
    }
    let mut messages = reader.out.messages.into_iter();
    let mut first = messages.next()?;
    first.parts.extend(messages.flat_map(|message| message.parts));
    Some(first)
}
