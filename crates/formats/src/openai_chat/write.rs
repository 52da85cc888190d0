//! From the canonical form back into the list of messages.

use super::FORMAT;
use super::generate::{document, records};
use crate::WriteError;
use crate::raw::{Change, json_string};
use crate::rewrite::{Dialect, rewrite};
use crate::write::{Outcome, View};
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::view::{PartEdit, PartPos, Shown};
use serde_json::Value;

pub(super) fn write(view: &View<'_>) -> Result<Outcome, WriteError> {
    let mut losses = Vec::new();
    let text = if view.session.format == FORMAT.id && !view.session.source.records.is_empty() {
        let mut dialect = OpenAiChat { losses: &mut losses };
        rewrite(view.session, &view.sent, &mut dialect)?
    } else {
        let sent: Vec<Message> = view.sent.iter().map(Shown::to_message).collect();
        document(view.frame, &sent, &mut losses)
    };
    Ok(Outcome { text, losses })
}

struct OpenAiChat<'a> {
    losses: &'a mut Vec<String>,
}

impl Dialect for OpenAiChat<'_> {
    /// Every text of this format is a JSON string, arguments included.
    fn changes(&self, _: PartPos, part: &Part, edit: Option<&PartEdit>) -> Vec<(String, Change)> {
        let (Some(pointer), Some(edit)) = (&part.pointer, edit) else {
            return Vec::new();
        };
        match part.kind {
            PartKind::File(_) | PartKind::Unknown { .. } | PartKind::Marker(_) => Vec::new(),
            _ => vec![(pointer.clone(), Change::Set(json_string(&edit.text)))],
        }
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        records(messages, self.losses)
    }
}
