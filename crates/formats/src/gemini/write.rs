//! From the canonical form back into contents.

use super::generate::{arguments, contents};
use super::{FORMAT, SIGNATURE};
use crate::WriteError;
use crate::raw::{Change, json_string};
use crate::rewrite::{Dialect, rewrite};
use crate::write::{Outcome, View};
use foldback_core::SegmentKind;
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::view::{PartEdit, PartPos, Shown};
use serde_json::{Value, json};

pub(super) fn write(view: &View<'_>) -> Result<Outcome, WriteError> {
    let mut losses = Vec::new();
    let text = if view.session.format == FORMAT.id && !view.session.source.records.is_empty() {
        let mut dialect = Contents { losses: &mut losses };
        rewrite(view.session, &view.sent, &mut dialect)?
    } else {
        anew(view, &mut losses)
    };
    Ok(Outcome { text, losses })
}

struct Contents<'a> {
    losses: &'a mut Vec<String>,
}

impl Dialect for Contents<'_> {
    fn changes(&self, _: PartPos, part: &Part, edit: Option<&PartEdit>) -> Vec<(String, Change)> {
        let (Some(pointer), Some(edit)) = (&part.pointer, edit) else {
            return Vec::new();
        };
        let new = match &part.kind {
            PartKind::File(_) | PartKind::Unknown { .. } | PartKind::Marker(_) => {
                return Vec::new();
            }
            // A signature says nothing that could be put in other words.
            PartKind::Reasoning { .. } if pointer.ends_with(SIGNATURE) => return Vec::new(),
            PartKind::Call(_) => arguments(&edit.text).to_string(),
            PartKind::Result(_) if pointer.ends_with("/response") => {
                json!({ "output": edit.text }).to_string()
            }
            _ => json_string(&edit.text),
        };
        vec![(pointer.clone(), Change::Set(new))]
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        contents(messages, true, self.losses)
    }
}

/// A request body, one content a line.
fn anew(view: &View<'_>, losses: &mut Vec<String>) -> String {
    let mut out = String::from("{");
    if let Some(model) = &view.session.model {
        out.push_str(&format!("\"model\":{},\n", Value::from(model.as_str())));
    }
    let system: Vec<Value> = view
        .frame
        .segments
        .iter()
        .filter(|segment| segment.kind == SegmentKind::System && !segment.text.is_empty())
        .map(|segment| json!({ "text": segment.text }))
        .collect();
    if !system.is_empty() {
        let system = json!({ "parts": system });
        out.push_str(&format!("\"systemInstruction\":{system},\n"));
    }
    if view.frame.text_of(SegmentKind::Tools).is_some() {
        losses.push("the tool definitions: the API wants its own dialect of schemas".to_owned());
    }
    let sent: Vec<Message> = view.sent.iter().map(Shown::to_message).collect();
    let signed = view.session.format.starts_with("gemini");
    let lines: Vec<String> = contents(&sent, signed, losses).iter().map(Value::to_string).collect();
    out.push_str(&format!("\"contents\":[\n{}\n]}}\n", lines.join(",\n")));
    out
}
