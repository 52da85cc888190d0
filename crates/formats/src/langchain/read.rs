//! From lists of messages to the canonical form.

use super::FORMAT;
use super::message::{self, Fields};
use crate::ids::{Calls, Ids};
use crate::session::{Boundary, Recorded, Shape, Source};
use crate::{ReadError, Session, answers, pairing, raw, value};
use foldback_core::SegmentKind;
use foldback_core::log::{Message, Part, PartKind, ResultStatus, Role, ToolResult};
use serde_json::Value;
use std::sync::Arc;

/// Where the list of messages stands: alone, in a graph's state, in a thread's, in a prompt.
const LISTS: [&str; 4] = ["", "/messages", "/values/messages", "/kwargs/messages"];

/// Reads a document, or a file with one a line.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    match value::document(text) {
        Ok(root) => match conversation(text, &root)? {
            Some(session) => Ok(vec![session]),
            None => Err(value::malformed(
                "/messages",
                "a list of messages is needed here, or at the top",
            )),
        },
        Err(error) => lines(text).ok_or(error),
    }
}

fn lines(text: &str) -> Option<Vec<Session>> {
    let mut sessions = Vec::new();
    let mut damaged = Vec::new();
    for (line, range) in raw::numbered_lines(text) {
        let text = &text[range];
        let found = raw::parse(text).ok().map(|root| conversation(text, &root));
        match found {
            Some(Ok(Some(session))) => sessions.push(session),
            _ => damaged.push(line),
        }
    }
    let first: &mut Session = sessions.first_mut()?;
    for line in damaged {
        first.warn("damaged-line", format!("line {line}"), "no list of messages in it; left out");
    }
    Some(sessions)
}

fn conversation(text: &str, root: &Value) -> Result<Option<Session>, ReadError> {
    let found = LISTS.into_iter().find_map(|list| Some((list, root.pointer(list)?.as_array()?)));
    let Some((list, stored)) = found else {
        return Ok(None);
    };
    let source = Source {
        text: text.into(),
        shape: Shape::Document,
        records: raw::elements(text, list)
            .map_err(|error| value::malformed(list, error.to_string()))?,
    };
    let id = ["thread_id", "id"]
        .iter()
        .find_map(|key| value::string(root, key))
        .unwrap_or_else(|| value::content_id(text));
    let mut reader = Reader {
        session: Session::new(id, FORMAT.id, source),
        messages: Vec::new(),
        ids: Ids::default(),
        calls: Calls::default(),
    };
    for (record, raw) in (0u32..).zip(stored) {
        match message::unpack(raw) {
            Some(fields) => reader.message(record, &fields),
            None => reader.session.warn(
                "damaged-line",
                format!("{list}/{record}"),
                "no message of LangChain; left out",
            ),
        }
    }
    let mut session = reader.finish();
    session.recorded = Some(Recorded { messages: stored.len(), tool_calls: session.tool_calls() });
    Ok(Some(session))
}

struct Reader {
    session: Session,
    messages: Vec<Message>,
    ids: Ids,
    calls: Calls,
}

impl Reader {
    fn message(&mut self, record: u32, raw: &Fields<'_>) {
        match raw.kind {
            "human" | "user" | "HumanMessage" | "HumanMessageChunk" => self.human(record, raw),
            "ai" | "assistant" | "AIMessage" | "AIMessageChunk" => self.answer(record, raw),
            "tool" | "function" | "ToolMessage" | "FunctionMessage" => self.result(record, raw),
            "system" | "developer" | "SystemMessage" => {
                let parts = self.content(record, raw);
                if self.messages.is_empty() {
                    for part in parts {
                        let text = part.shown();
                        self.session.frame.push_text(SegmentKind::System, text);
                    }
                } else {
                    self.push(record, raw, Role::System, parts);
                }
            }
            kind => self.session.warn(
                "unknown-type",
                format!("message {record}"),
                format!("a message of type `{kind}`; left out"),
            ),
        }
    }

    fn content(&mut self, record: u32, raw: &Fields<'_>) -> Vec<Part> {
        let content = raw.fields.get("content").unwrap_or(&Value::Null);
        let session = &mut self.session;
        message::content(content, &format!("{}/content", raw.at), |kind| {
            session.warn(
                "unknown-type",
                format!("message {record}"),
                format!("content of type `{kind}`; kept as it is"),
            );
        })
    }

    fn push(
        &mut self,
        record: u32,
        raw: &Fields<'_>,
        role: Role,
        parts: Vec<Part>,
    ) -> &mut Message {
        let wanted = value::string(raw.fields, "id").unwrap_or_else(|| format!("m{record}"));
        let mut message = Message::new(self.ids.unique(&wanted), role, parts);
        message.record = Some(record);
        let index = self.messages.len();
        self.messages.push(message);
        &mut self.messages[index]
    }

    /// A user's message, or the summary that the summarisation middleware put in place of what it
    /// removed.
    fn human(&mut self, record: u32, raw: &Fields<'_>) {
        let mut parts = self.content(record, raw);
        let from = raw.fields.pointer("/additional_kwargs/lc_source");
        let summary = from.and_then(Value::as_str) == Some("summarization");
        if summary {
            for part in &mut parts {
                if let PartKind::Text { synthetic, .. } = &mut part.kind {
                    *synthetic = true;
                }
            }
        }
        self.push(record, raw, Role::User, parts);
        if summary {
            self.session.boundaries.push(Boundary {
                before: self.messages.len(),
                trigger: "auto".to_owned(),
                kind: "summary".to_owned(),
                tokens_before: None,
                tokens_after: None,
                original_kept: false,
            });
        }
    }

    fn answer(&mut self, record: u32, raw: &Fields<'_>) {
        let mut parts = Vec::new();
        let thoughts = raw.fields.pointer("/additional_kwargs/reasoning_content");
        if let Some(text) = thoughts.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            let kind = PartKind::Reasoning { text: text.to_owned(), opaque: None };
            let pointer = format!("{}/additional_kwargs/reasoning_content", raw.at);
            parts.push(Part::new(kind).at(pointer));
        }
        parts.extend(self.content(record, raw));
        for (id, name, arguments, pointer) in message::calls(raw.fields, raw.at) {
            parts.push(Part::call(self.calls.call(&id), name, arguments).at(pointer));
        }
        self.push(record, raw, Role::Assistant, parts).answer = Some(message::answer(raw.fields));
    }

    fn result(&mut self, record: u32, raw: &Fields<'_>) {
        let name = value::string(raw.fields, "name").unwrap_or_default();
        let parts = self.content(record, raw);
        let mut media = Vec::new();
        let mut texts = Vec::new();
        for part in &parts {
            match &part.kind {
                PartKind::File(file) => media.push(file.clone()),
                _ => texts.push(part.shown()),
            }
        }
        let pointer = match parts.as_slice() {
            [only] => only.pointer.clone(),
            _ => None,
        };
        let id = value::text(raw.fields, "tool_call_id").unwrap_or(&name);
        let result = ToolResult {
            call_id: self.calls.result(id),
            tool: name.clone(),
            status: match value::text(raw.fields, "status") {
                Some("error") => ResultStatus::Error,
                _ => ResultStatus::Completed,
            },
            text: texts.join("\n"),
            media,
            ..ToolResult::default()
        };
        let pointer = pointer.unwrap_or_else(|| format!("{}/content", raw.at));
        let part = Part::new(PartKind::Result(result)).at(pointer);
        self.push(record, raw, Role::Tool, vec![part]);
    }

    fn finish(mut self) -> Session {
        answers::infer_finish(&mut self.messages);
        self.session.model = answers::main_model(&self.messages);
        self.session.messages = self.messages.into_iter().map(Arc::new).collect();
        pairing::join(&mut self.session);
        self.session
    }
}
