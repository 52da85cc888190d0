//! From the canonical form back into the list of messages.

use crate::bodies::{ToolShape, frame_tools, lines};
use crate::prelude::*;
use crate::rewrite::rewrite;
use foldback_providers::wire::openai::{Writer, records};

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    rewrite(view, &view.sent, &mut Writer { losses })
}

pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let system = view.system().map(|text| json!({"role": "system", "content": text}));
    let list: Vec<Value> = system.chain(records(&view.messages(), losses)).collect();
    let mut out = format!("{{\"messages\":[\n{}\n]", lines(list, ",\n"));
    if let Some(tools) = frame_tools(view.frame, ToolShape::OpenAi, losses) {
        out.push_str(&format!(",\n\"tools\":{tools}"));
    }
    out.push_str("}\n");
    Ok(out)
}
