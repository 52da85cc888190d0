//! A trajectory as messages.

use super::message;
use crate::chat;
use crate::prelude::*;

/// Reads a trajectory. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let document = value::document(text)?;
    let list = if document.is_array() { "" } else { "/messages" };
    let Some(stored) = document.pointer(list).and_then(Value::as_array) else {
        return Err(value::malformed("/messages", "not a list of messages"));
    };
    let source = value::source(text, list)?;
    let id = value::text(&document, "instance_id").map_or_else(|| jsonl::uuid(text), str::to_owned);
    let mut reader = Reader {
        out: SessionBuilder::new(id, super::FORMAT.id, source),
        model: value::text_at(&document, "/info/config/model/model_name").map(str::to_owned),
        open: None,
        has_task: false,
    };
    reader.out.session.cluster =
        value::text(&document, "instance_id").and_then(|instance| cluster::task(None, instance));
    for (record, message) in (0u32..).zip(stored) {
        reader.message(message, record);
    }
    only(reader.out.finish_counted(stored.len()))
}

struct Reader {
    out: SessionBuilder,
    model: Option<String>,
    /// Command written as text that waits for its output.
    open: Option<String>,
    has_task: bool,
}

impl Reader {
    fn push(&mut self, role: Role, parts: Vec<Part>, raw: &Value, record: u32) -> &mut Message {
        let message = self.out.push(record, &format!("message-{record}"), role, parts);
        message.at = message::at(raw);
        message
    }

    fn message(&mut self, raw: &Value, record: u32) {
        match value::text(raw, "role").unwrap_or_default() {
            "system" if self.out.messages.is_empty() => {
                let text = chat::content(&raw["content"]).text;
                self.out.system(text);
            }
            "system" => {
                let parts = chat::parts(&raw["content"]);
                self.push(Role::System, parts, raw, record);
            }
            "assistant" => self.answer(raw, record),
            "tool" => {
                let call = value::text(raw, "tool_call_id").unwrap_or_default();
                let call = self.out.calls.result(call);
                self.result(call, raw, record);
            }
            "user" => match self.open.take() {
                Some(call) => self.result(call, raw, record),
                // Some versions do not even store the answers that are refused: runs of them are normal.
                None => {
                    let (parts, mid_turn) = chat::prompt(&raw["content"], &mut self.has_task);
                    self.push(Role::User, parts, raw, record).mid_turn = mid_turn;
                }
            },
            // What came out of the run, for whoever reads the file.
            "exit" => {}
            role => self.out.warn(
                "unknown-type",
                format!("message {record}"),
                format!("a message of the unknown role `{role}`, skipped"),
            ),
        }
    }

    fn answer(&mut self, raw: &Value, record: u32) {
        let mut parts = message::answer_parts(raw, record);
        self.open = None;
        for part in &mut parts {
            let in_text =
                part.pointer.as_deref().is_some_and(|pointer| pointer.starts_with("/content"));
            if let PartKind::Call(call) = &mut part.kind {
                call.call_id = self.out.calls.call(&call.call_id);
                if in_text {
                    self.open = Some(call.call_id.clone());
                }
            }
        }
        let answer = message::answer(raw, self.model.as_deref());
        self.push(Role::Assistant, parts, raw, record).answer = Some(answer);
    }

    fn result(&mut self, call_id: String, raw: &Value, record: u32) {
        let chat::Content { text, pointer, files } = chat::content(&raw["content"]);
        let part = result(call_id, "", false, text, files).at(pointer);
        self.push(Role::Tool, vec![part], raw, record);
    }
}
