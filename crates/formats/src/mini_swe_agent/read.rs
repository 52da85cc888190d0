//! A trajectory as messages.

use super::message;
use crate::ids::{Calls, Ids};
use crate::session::{Recorded, Shape, Source};
use crate::{ReadError, Session, answers, chat, cluster, jsonl, pairing, raw, value};
use foldback_core::SegmentKind;
use foldback_core::log::{Message, Part, PartKind, Role, ToolResult};
use serde_json::Value;
use std::sync::Arc;

/// Reads a trajectory. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let document = value::document(text)?;
    let list = if document.is_array() { "" } else { "/messages" };
    let Some(stored) = document.pointer(list).and_then(Value::as_array) else {
        return Err(value::malformed("/messages", "not a list of messages"));
    };
    let records =
        raw::elements(text, list).map_err(|error| value::malformed(list, error.to_string()))?;
    let source = Source { text: Arc::from(text), shape: Shape::Document, records };
    let id = value::text(&document, "instance_id").map_or_else(|| jsonl::uuid(text), str::to_owned);
    let mut import = Import {
        session: Session::new(id, super::ID, source),
        messages: Vec::new(),
        ids: Ids::default(),
        calls: Calls::default(),
        model: document
            .pointer("/info/config/model/model_name")
            .and_then(Value::as_str)
            .map(str::to_owned),
        open: None,
        has_task: false,
    };
    import.session.cluster =
        value::text(&document, "instance_id").and_then(|instance| cluster::task(None, instance));
    for (record, message) in (0u32..).zip(stored) {
        import.message(message, record);
    }
    let mut session = import.finish();
    session.recorded = Some(Recorded { messages: stored.len(), tool_calls: session.tool_calls() });
    match session.messages.is_empty() {
        true => Err(ReadError::NoMessages),
        false => Ok(vec![session]),
    }
}

struct Import {
    session: Session,
    messages: Vec<Message>,
    ids: Ids,
    calls: Calls,
    model: Option<String>,
    /// Command written as text that waits for its output.
    open: Option<String>,
    has_task: bool,
}

impl Import {
    fn push(&mut self, role: Role, parts: Vec<Part>, raw: &Value, record: u32) -> &mut Message {
        let index = self.messages.len();
        self.messages.push(Message {
            at: message::at(raw),
            record: Some(record),
            ..Message::new(self.ids.unique(&format!("message-{record}")), role, parts)
        });
        &mut self.messages[index]
    }

    fn message(&mut self, raw: &Value, record: u32) {
        match value::text(raw, "role").unwrap_or_default() {
            "system" if self.messages.is_empty() => {
                let text = chat::content(&raw["content"]).text;
                self.session.frame.push_text(SegmentKind::System, text);
            }
            "system" => {
                let parts = chat::parts(&raw["content"]);
                self.push(Role::System, parts, raw, record);
            }
            "assistant" => self.answer(raw, record),
            "tool" => {
                let call = value::text(raw, "tool_call_id").unwrap_or_default();
                let call = self.calls.result(call);
                self.result(call, raw, record);
            }
            "user" => match self.open.take() {
                Some(call) => self.result(call, raw, record),
                None => self.user(raw, record),
            },
            // What came out of the run, for whoever reads the file.
            "exit" => {}
            role => self.session.warn(
                "unknown-type",
                format!("message {record}"),
                format!("a message of the unknown role `{role}`, skipped"),
            ),
        }
    }

    /// The task is the one turn of a run. Later messages in the user's name are the harness refusing
    /// an answer, which some versions do not even store: runs of them are normal.
    fn user(&mut self, raw: &Value, record: u32) {
        let mut parts = chat::parts(&raw["content"]);
        let first = !std::mem::replace(&mut self.has_task, true);
        if !first {
            for part in &mut parts {
                if let PartKind::Text { synthetic, .. } = &mut part.kind {
                    *synthetic = true;
                }
            }
        }
        self.push(Role::User, parts, raw, record).mid_turn = !first;
    }

    fn answer(&mut self, raw: &Value, record: u32) {
        let mut parts = message::answer_parts(raw, record);
        self.open = None;
        for part in &mut parts {
            let in_text =
                part.pointer.as_deref().is_some_and(|pointer| pointer.starts_with("/content"));
            if let PartKind::Call(call) = &mut part.kind {
                call.call_id = self.calls.call(&call.call_id);
                if in_text {
                    self.open = Some(call.call_id.clone());
                }
            }
        }
        let answer = message::answer(raw, self.model.as_deref());
        self.push(Role::Assistant, parts, raw, record).answer = Some(answer);
    }

    fn result(&mut self, call_id: String, raw: &Value, record: u32) {
        let content = chat::content(&raw["content"]);
        let part = Part::new(PartKind::Result(ToolResult {
            call_id,
            text: content.text,
            media: content.files,
            ..ToolResult::default()
        }));
        self.push(Role::Tool, vec![part.at(content.pointer)], raw, record);
    }

    fn finish(mut self) -> Session {
        answers::infer_finish(&mut self.messages);
        self.session.model = answers::main_model(&self.messages);
        self.session.messages = self.messages.into_iter().map(Arc::new).collect();
        pairing::join(&mut self.session);
        self.session
    }
}
