//! From the canonical form back into a list. The list is what is sent: an edited part gets the edit's
//! text as its content, and what is hidden is left out.

use super::FORMAT;
use super::generate::{document, records};
use crate::raw::{self, Change, json_string};
use crate::rewrite::{Dialect, rewrite};
use crate::write::{Outcome, View};
use crate::{Session, WriteError, value};
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::view::{PartEdit, PartPos, Shown};
use serde_json::Value;

pub(super) fn write(view: &View<'_>) -> Result<Outcome, WriteError> {
    let mut losses = Vec::new();
    let text = if view.session.format == FORMAT.id && !view.session.source.records.is_empty() {
        let mut dialect = PydanticAi {
            system: system_record(view.session).into_iter().collect(),
            losses: &mut losses,
        };
        rewrite(view.session, &view.sent, &mut dialect)?
    } else {
        let sent: Vec<Message> = view.sent.iter().map(Shown::to_message).collect();
        document(view.frame, &sent, &mut losses)
    };
    Ok(Outcome { text, losses })
}

struct PydanticAi<'a> {
    system: Vec<u32>,
    losses: &'a mut Vec<String>,
}

impl Dialect for PydanticAi<'_> {
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

    fn frame_records(&self) -> &[u32] {
        &self.system
    }
}

/// The request that holds the system prompt beside the first messages: its prompt has to stay when
/// those messages go.
fn system_record(session: &Session) -> Option<u32> {
    let first = session.messages.first()?.record?;
    let record = raw::parse(session.source.record(first)?).ok()?;
    let kind = value::text(record.pointer("/parts/0")?, "part_kind")?;
    (kind == "system-prompt").then_some(first)
}
