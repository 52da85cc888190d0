//! From lists of messages to the canonical form.

use super::FORMAT;
use super::message::{self, Fields};
use crate::prelude::*;

/// Where the list of messages stands: alone, in a graph's state, in a thread's, in a prompt.
const LISTS: [&str; 4] = ["", "/messages", "/values/messages", "/kwargs/messages"];

/// Reads a document, or a file with one a line.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    document_or_lines(text, conversation, |_| "no list of messages in it".to_owned())
}

fn conversation(text: &str, root: &Value) -> Result<Session, ReadError> {
    let found = LISTS.into_iter().find_map(|list| Some((list, root.pointer(list)?.as_array()?)));
    let (list, stored) = found.ok_or_else(|| {
        value::malformed("/messages", "a list of messages is needed here, or at the top")
    })?;
    let id = value::first_string(root, &["thread_id", "id"]);
    let mut reader = Reader { out: SessionBuilder::document(text, list, id, FORMAT.id)? };
    for (record, raw) in (0u32..).zip(stored) {
        match message::unpack(raw) {
            Some(fields) => reader.message(record, &fields),
            None => reader.out.warn(
                "damaged-line",
                format!("{list}/{record}"),
                "no message of LangChain; left out",
            ),
        }
    }
    Ok(reader.out.finish_counted(stored.len()))
}

struct Reader {
    out: SessionBuilder,
}

impl Reader {
    fn message(&mut self, record: u32, raw: &Fields<'_>) {
        match raw.kind {
            "human" | "user" | "HumanMessage" | "HumanMessageChunk" => self.human(record, raw),
            "ai" | "assistant" | "AIMessage" | "AIMessageChunk" => self.answer(record, raw),
            "tool" | "function" | "ToolMessage" | "FunctionMessage" => self.result(record, raw),
            "system" | "developer" | "SystemMessage" => {
                let parts = self.content(record, raw);
                if let Some(parts) = self.out.opening_system(parts) {
                    self.push(record, raw, Role::System, parts);
                }
            }
            kind => self.out.warn(
                "unknown-type",
                format!("message {record}"),
                format!("a message of type `{kind}`; left out"),
            ),
        }
    }

    fn content(&mut self, record: u32, raw: &Fields<'_>) -> Vec<Part> {
        let content = raw.fields.get("content").unwrap_or(&Value::Null);
        let session = &mut self.out.session;
        message::content(content, &format!("{}/content", raw.at), |kind| {
            let detail = format!("content of type `{kind}`; kept as it is");
            session.warn("unknown-type", format!("message {record}"), detail);
        })
    }

    fn push(
        &mut self,
        record: u32,
        raw: &Fields<'_>,
        role: Role,
        parts: Vec<Part>,
    ) -> &mut Message {
        self.out.push_named(record, value::text(raw.fields, "id"), role, parts)
    }

    /// A user's message, or the summary that the summarization middleware put in place of what it
    /// removed.
    fn human(&mut self, record: u32, raw: &Fields<'_>) {
        let mut parts = self.content(record, raw);
        let from = raw.fields.pointer("/additional_kwargs/lc_source");
        let summary = from.and_then(Value::as_str) == Some("summarization");
        if summary {
            mark_synthetic(&mut parts);
        }
        self.push(record, raw, Role::User, parts);
        if summary {
            self.out.boundary("summary", "auto").original_kept = false;
        }
    }

    fn answer(&mut self, record: u32, raw: &Fields<'_>) {
        let kwargs = raw.fields.get("additional_kwargs").unwrap_or(&Value::Null);
        let at = format!("{}/additional_kwargs", raw.at);
        let mut parts = Vec::from_iter(reasoning_member(kwargs, "reasoning_content", &at));
        parts.extend(self.content(record, raw));
        parts.extend(message::calls(&mut self.out, raw.fields, raw.at));
        self.push(record, raw, Role::Assistant, parts).answer = Some(message::answer(raw.fields));
    }

    fn result(&mut self, record: u32, raw: &Fields<'_>) {
        let name = value::text(raw.fields, "name").unwrap_or_default();
        let content = self.content(record, raw);
        let (text, media, pointer) = flattened(content, format!("{}/content", raw.at));
        let id = value::text(raw.fields, "tool_call_id").unwrap_or(name);
        let failed = value::text(raw.fields, "status") == Some("error");
        let part = self.out.result(id, name, failed, text, media).at(pointer);
        self.push(record, raw, Role::Tool, vec![part]);
    }
}
