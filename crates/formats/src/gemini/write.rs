//! From the canonical form back into contents.

use crate::bodies::lines;
use crate::prelude::*;
use crate::rewrite::rewrite;
use foldback_providers::wire::gemini::{Writer, records};

pub(super) fn patch(view: &View<'_>, _: &mut Vec<String>) -> Result<String, WriteError> {
    rewrite(view, &view.sent, &mut Writer)
}

/// A request body, one content a line.
pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut out = String::from("{");
    if let Some(model) = &view.session.model {
        out.push_str(&format!("\"model\":{},\n", json_string(model)));
    }
    let system: Vec<Value> = view.system().map(|text| json!({ "text": text })).collect();
    if !system.is_empty() {
        let system = json!({ "parts": system });
        out.push_str(&format!("\"systemInstruction\":{system},\n"));
    }
    if view.frame.text_of(SegmentKind::Tools).is_some() {
        losses.push("the tool definitions: the API wants its own dialect of schemas".to_owned());
    }
    let list = lines(records(&view.messages()), ",\n");
    out.push_str(&format!("\"contents\":[\n{list}\n]}}\n"));
    Ok(out)
}
