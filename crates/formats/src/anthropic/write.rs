//! From the canonical form back into the list of messages.

use super::FORMAT;
use super::generate::{document, input, records};
use crate::raw::{self, Change, json_string};
use crate::rewrite::{Dialect, rewrite};
use crate::write::{Outcome, View};
use crate::{Session, WriteError, value};
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::view::{EditKind, PartEdit, PartPos, Shown};
use serde_json::{Value, json};

pub(super) fn write(view: &View<'_>) -> Result<Outcome, WriteError> {
    let mut losses = Vec::new();
    let text = if view.session.format == FORMAT.id && !view.session.source.records.is_empty() {
        let mut dialect = Anthropic { session: view.session, losses: &mut losses };
        rewrite(view.session, &view.sent, &mut dialect)?
    } else {
        let sent: Vec<Message> = view.sent.iter().map(Shown::to_message).collect();
        document(view.frame, view.session.model.as_deref(), &sent, &mut losses)
    };
    Ok(Outcome { text, losses })
}

struct Anthropic<'a> {
    session: &'a Session,
    losses: &'a mut Vec<String>,
}

impl Dialect for Anthropic<'_> {
    fn changes(&self, at: PartPos, part: &Part, edit: Option<&PartEdit>) -> Vec<(String, Change)> {
        let (Some(pointer), Some(edit)) = (&part.pointer, edit) else {
            return Vec::new();
        };
        let text = match &part.kind {
            PartKind::File(_) | PartKind::Unknown { .. } | PartKind::Marker(_) => {
                return Vec::new();
            }
            PartKind::Call(_) => input(&edit.text).to_string(),
            PartKind::Result(result)
                if edit.kind == EditKind::Truncate && !result.media.is_empty() =>
            {
                self.with_files(at, pointer, &edit.text).to_string()
            }
            _ => json_string(&edit.text),
        };
        vec![(pointer.clone(), Change::Set(text))]
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        records(messages, self.losses)
    }
}

impl Anthropic<'_> {
    /// The content of a tool result with its text cut and its files kept.
    fn with_files(&self, at: PartPos, pointer: &str, text: &str) -> Value {
        let message = self.session.messages.get(at.item);
        let record = message
            .and_then(|message| self.session.source.record(message.record?))
            .and_then(|text| raw::parse(text).ok());
        let blocks = record.as_ref().and_then(|record| record.pointer(pointer)?.as_array());
        let mut out = vec![json!({"type": "text", "text": text})];
        out.extend(
            blocks
                .into_iter()
                .flatten()
                .filter(|block| matches!(value::text(block, "type"), Some("image" | "document")))
                .cloned(),
        );
        Value::from(out)
    }
}
