//! From the canonical form back into the stored messages.

use super::tags;
use crate::bodies::{lines, object};
use crate::prelude::*;
use crate::rewrite::{Dialect, rewrite};
use foldback_providers::wire::anthropic::records;

pub(super) fn patch(view: &View<'_>, _: &mut Vec<String>) -> Result<String, WriteError> {
    rewrite(view, &view.sent, &mut History { parsed: view.session.parsed() })
}

struct History<'a> {
    parsed: Parsed<'a>,
}

impl Dialect for History<'_> {
    fn edited(&self, at: PartPos, part: &Part, pointer: &str, edit: &PartEdit) -> Option<String> {
        Some(match &part.kind {
            // Stored as a message of its own, in somebody else's shape.
            PartKind::Reasoning { .. } if part.source_record.is_some() => return None,
            PartKind::Text { .. } | PartKind::Call(_) => {
                match self.shared(at, part, pointer, &edit.text) {
                    Some(text) => {
                        self.parsed.put(pointer, &text);
                        json_string(&text)
                    }
                    None if part.as_call().is_some() => object(&edit.text).to_string(),
                    None => json_string(&edit.text),
                }
            }
            PartKind::Result(_) => match self.announced(at, pointer, &edit.text) {
                Some(block) => block.to_string(),
                None => json_string(&edit.text),
            },
            _ => json_string(&edit.text),
        })
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        messages.iter().map(stored).collect()
    }
}

impl History<'_> {
    fn recorded(&self, at: PartPos, pointer: &str) -> Option<Value> {
        self.parsed.record_of(at.item)?.pointer(pointer).cloned()
    }

    /// A text of the model in which the words or one of the calls is replaced by `new`.
    fn shared(&self, at: PartPos, part: &Part, pointer: &str, new: &str) -> Option<String> {
        let owner = self.parsed.messages.get(at.item)?;
        let recorded = self.recorded(at, pointer)?;
        let whole = recorded.as_str().filter(|_| owner.role == Role::Assistant)?;
        let tags = tags::tags(whole);
        if tags.is_empty() {
            return None;
        }
        let Some(call) = part.as_call() else {
            let calls = tags.iter().filter_map(|tag| whole.get(tag.range.clone()));
            let calls: Vec<&str> = calls.collect();
            return Some(format!("{new}\n\n{}", calls.join("\n")));
        };
        // The number of the call among those that were read from the same text.
        let same = owner
            .parts
            .iter()
            .filter(|other| other.as_call().is_some() && other.pointer.as_deref() == Some(pointer));
        let number =
            same.filter_map(Part::as_call).position(|other| other.call_id == call.call_id)?;
        let tag = tags.get(number)?;
        let (before, after) = (whole.get(..tag.range.start)?, whole.get(tag.range.end..)?);
        Some(format!("{before}{}{after}", tags::render(tag.tool, new)))
    }

    /// The block of a result that comes after its announcement.
    fn announced(&self, at: PartPos, pointer: &str, new: &str) -> Option<Value> {
        let recorded = self.recorded(at, pointer)?;
        let whole = value::text(&recorded, "text")?;
        let (_, rest) = tags::header(whole)?;
        let header = whole.get(..whole.len() - rest.len())?.trim_end();
        Some(json!({ "type": "text", "text": format!("{header}\n{new}") }))
    }
}

/// A message that a strategy put in.
fn stored(message: &Message) -> Value {
    let role = match message.role {
        Role::Assistant => "assistant",
        _ => "user",
    };
    let mut out = json!({
        "role": role,
        "content": [{ "type": "text", "text": message.shown_text() }],
    });
    if let Some(at) = message.at {
        out["ts"] = at.into();
    }
    if message.is_entry_of(EntryKind::Summary) {
        out["isSummary"] = true.into();
    }
    out
}

/// The messages as the provider takes them, each with a time.
pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    if !view.frame.segments().is_empty() {
        losses.push(
            "the system prompt and the tool definitions: the history does not hold them".to_owned(),
        );
    }
    let first = view.sent.iter().find_map(|shown| shown.message.at).unwrap_or(0);
    let messages = (0i64..).zip(records(&view.messages(), losses)).map(|(number, mut message)| {
        message["ts"] = (first + number).into();
        message
    });
    Ok(format!("[\n{}\n]\n", lines(messages, ",\n")))
}
