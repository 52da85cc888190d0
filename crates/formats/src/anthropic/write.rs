//! From the canonical form back into the list of messages.

use crate::bodies::{ToolShape, frame_tools, lines};
use crate::prelude::*;
use crate::rewrite::rewrite;
use foldback_providers::wire::anthropic::{Writer, records};

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    rewrite(view, &view.sent, &mut Writer { parsed: view.session.parsed(), losses })
}

/// A request body: model, system prompt, messages (one a line) and tools.
pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut out = String::from("{");
    if let Some(model) = &view.session.model {
        out.push_str(&format!("\"model\":{},\n", json_string(model)));
    }
    let system: Vec<Value> =
        view.system().map(|text| json!({"type": "text", "text": text})).collect();
    if !system.is_empty() {
        out.push_str(&format!("\"system\":{},\n", Value::from(system)));
    }
    let list = lines(records(&view.messages(), losses), ",\n");
    out.push_str(&format!("\"messages\":[\n{list}\n]"));
    if let Some(tools) = frame_tools(view.frame, ToolShape::Anthropic, losses) {
        out.push_str(&format!(",\n\"tools\":{tools}"));
    }
    out.push_str("}\n");
    Ok(out)
}
