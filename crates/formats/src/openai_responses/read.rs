//! From items to the canonical form.

use super::{FORMAT, LISTS};
use crate::codex::item::{self, Item};
use crate::prelude::*;

/// Types of the item that stands for what the API's own compaction replaced.
const COMPACTIONS: [&str; 2] = ["compaction", "compaction_summary"];

/// Reads a document, or the documents or items of a file with one a line.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    match value::document(text) {
        Ok(root) => match conversation(text, &root)? {
            Some(session) => Ok(vec![session]),
            None => Err(value::malformed(
                "/input",
                "a list of items is needed here, in `output` or at the top",
            )),
        },
        Err(error) => lines(text).ok_or(error),
    }
}

/// A file of lines: each a body, or each an item of one conversation.
fn lines(text: &str) -> Option<Vec<Session>> {
    let source = Source::lines(text);
    let mut sessions = Vec::new();
    let mut items = Vec::new();
    let mut damaged = Vec::new();
    for (record, root) in jsonl::values(&source) {
        match root {
            Ok(root) => match conversation(source.record(record)?, &root) {
                Ok(Some(session)) => sessions.push(session),
                _ => items.push((record, root)),
            },
            Err(warning) => damaged.push(warning),
        }
    }
    if sessions.is_empty() {
        let mut reader = Reader::new(value::content_id(text), source);
        for (record, item) in &items {
            reader.item(*record, item);
        }
        let session = reader.finish();
        if session.messages.is_empty() {
            return None;
        }
        sessions.push(session);
    } else {
        for (record, _) in items {
            let place = source.place(record);
            sessions[0].warn("damaged-line", place, "no list of items in it; left out");
        }
    }
    sessions[0].warnings.extend(damaged);
    Some(sessions)
}

/// The conversation of a document; `None` where it holds no list of items.
fn conversation(text: &str, root: &Value) -> Result<Option<Session>, ReadError> {
    let lists: Vec<&str> =
        LISTS.into_iter().filter(|list| root.pointer(list).is_some_and(Value::is_array)).collect();
    let mut records = Vec::new();
    let asked = root.get("input").filter(|input| input.is_string());
    let fail = |error: raw::RawError| value::malformed("/input", error.to_string());
    if asked.is_some() {
        records.push(raw::locate(text, "/input").map_err(fail)?);
    }
    for list in &lists {
        records.extend(raw::elements(text, list).map_err(fail)?);
    }
    if lists.is_empty() && asked.is_none() {
        return Ok(None);
    }
    // Records in the order of the file; a response may stand before what it answers.
    let sent = records.clone();
    records.sort_by_key(|range| range.start);
    let source = Source { text: text.into(), shape: Shape::Document, records: records.into() };
    let id = value::first_string(root, &["conversation_id", "session_id", "id"])
        .unwrap_or_else(|| value::content_id(text));
    let mut reader = Reader::new(id, source);
    reader.frame(root);
    let items = lists.iter().filter_map(|list| root.pointer(list)?.as_array()).flatten();
    for (range, item) in sent.iter().zip(asked.into_iter().chain(items)) {
        let records = &reader.out.session.source.records;
        let record = records.partition_point(|other| other.start < range.start);
        reader.item(record as u32, item);
    }
    if root.get("output").is_some_and(Value::is_array) {
        reader.response(root);
    }
    Ok(Some(reader.finish()))
}

struct Reader {
    out: SessionBuilder,
    /// The answer that items are being added to.
    open: Option<usize>,
    counted: Recorded,
}

impl Reader {
    fn new(id: String, source: Source) -> Self {
        let out = SessionBuilder::new(id, FORMAT.id, source);
        Self { out, open: None, counted: Recorded::default() }
    }

    fn frame(&mut self, root: &Value) {
        self.out.tools(root.get("tools"));
        match root.get("instructions") {
            Some(Value::String(text)) if !text.is_empty() => self.out.system(text.as_str()),
            // A stored response has them as items.
            Some(Value::Array(items)) => {
                for item in items {
                    if let Item::Developer(parts) | Item::User(parts) = item::read(item, "") {
                        self.out.opening_system(parts);
                    }
                }
            }
            _ => {}
        }
        self.out.session.model = value::string(root, "model");
    }

    fn item(&mut self, record: u32, item: &Value) {
        if let Value::String(text) = item {
            self.push(record, item, Role::User, vec![Part::text(text.as_str()).at("")]);
            self.counted.messages += 1;
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
        self.counted.messages += 1;
        self.counted.tool_calls += usize::from(kind.ends_with("_call"));
        if COMPACTIONS.contains(&kind) {
            self.compaction(record, item, kind);
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
            Item::Unknown(kind) => self.out.warn(
                "unknown-type",
                format!("item {record}"),
                format!("an item of type `{kind}`; left out"),
            ),
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

    /// A compaction of the API's own: an opaque item in place of what it replaced. Where the list still
    /// holds the answers before it the item is an entry, otherwise all that is left of them.
    fn compaction(&mut self, record: u32, item: &Value, kind: &str) {
        let kept = self.out.messages.iter().any(Message::is_answer);
        let part = unknown(kind, item);
        let index = self.push(record, item, Role::Assistant, vec![part.at("")]);
        if kept {
            self.out.messages[index].origin = Origin::Entry(EntryKind::Summary);
        }
        self.out.boundary("replace", "auto").original_kept = kept;
    }

    /// What a response tells about the call that it answers.
    fn response(&mut self, root: &Value) {
        let last = self.out.messages.iter_mut().rev().find(|m| m.is_answer());
        let Some(answer) = last.and_then(|message| message.answer.as_mut()) else {
            return;
        };
        answer.usage = root.get("usage").and_then(|usage| COUNTS.of_object(usage));
        answer.model = value::string(root, "model");
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

    fn finish(mut self) -> Session {
        self.out.infer_finish();
        self.out.session.recorded = Some(self.counted);
        self.out.finish()
    }
}

/// Input includes the cached tokens, output the reasoning.
const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/input_tokens_details/cached_tokens"],
    output: &["/output_tokens"],
    reasoning: &["/output_tokens_details/reasoning_tokens"],
    total: "/total_tokens",
    ..Counts::NONE
};
