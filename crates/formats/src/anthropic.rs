//! `anthropic`: messages as Anthropic's Messages API takes them. A request body
//! `{system, messages, tools}`, a bare list of messages with content blocks, or one of them a line.
//!
//! Tool results are blocks of user messages here; reading gives each a message of its own with the same
//! record. The file is what is sent: writing puts the text of an edit in place of the content and
//! leaves out what is hidden. `docs/anthropic.md` has the mapping.

use crate::bodies::{Body, ToolShape, frame_tools, lines, read_all};
use crate::prelude::*;
use crate::rewrite::rewrite;
use foldback_providers::wire::anthropic::{self, Writer, records};

pub(crate) const FORMAT: Format = Format::new(
    "anthropic",
    "Anthropic Messages API: request bodies and message lists, also one a line",
    detect,
    |text| read_all(text, conversation),
)
.written(patch, generate)
.request_to(Dialect::Anthropic);

/// Types of content blocks that only this format has.
const OWN_BLOCKS: &[&str] =
    &["tool_use", "tool_result", "thinking", "redacted_thinking", "compaction"];

fn detect(_: &str, opening: &Peek) -> u8 {
    ["", "/messages", "/*/messages"]
        .iter()
        .map(|list| {
            let content = format!("{list}/*/content");
            let roles = format!("{list}/*/role");
            let mut roles = opening.values(&roles).peekable();
            if roles.peek().is_none() || !opening.has(&content) {
                return 0;
            }
            let types = format!("{content}/*/type");
            if opening.values(&types).any(|kind| OWN_BLOCKS.contains(&kind)) {
                return 80;
            }
            let two_roles = roles.all(|role| role == "user" || role == "assistant");
            match two_roles {
                true if opening.has("/system") || opening.has("/anthropic_version") => 75,
                true if opening.has(&types) => 45,
                true if opening.has("/max_tokens") => 42,
                true => 20,
                false => 0,
            }
        })
        .max()
        .unwrap_or(0)
}

fn conversation(body: &Body<'_>) -> Result<Session, ReadError> {
    let read = anthropic::read(&body.root, body.list);
    let mut out = SessionBuilder::read(body.session(FORMAT.id)?, read);
    out.compactions("summary", "provider");
    Ok(out.finish())
}

fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    rewrite(view, &view.sent, &mut Writer { parsed: view.session.parsed(), losses })
}

/// A request body: model, system prompt, messages (one a line) and tools.
fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
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
