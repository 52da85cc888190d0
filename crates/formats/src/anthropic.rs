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
    SIGNS,
    |text| read_all(text, conversation),
)
.written(patch, generate)
.request_to(Dialect::Anthropic);

/// Types of content blocks that only this format has.
const OWN_BLOCKS: &[&str] =
    &["tool_use", "tool_result", "thinking", "redacted_thinking", "compaction"];

/// Where lists of messages stand.
const LISTS: &[&str] = &["", "/messages", "/*/messages"];

/// Messages without a role that other formats have.
const TWO_ROLES: Member = Only("/*/role", &["user", "assistant"]);

const SIGNS: &[Sign] = &[
    Sign::new(80, &[Has("/*/role"), Is("/*/content/*/type", OWN_BLOCKS)]).below(LISTS),
    Sign::new(
        75,
        &[TWO_ROLES, Has("/*/content"), Any(&[Top("/system"), Top("/anthropic_version")])],
    )
    .below(LISTS),
    Sign::new(45, &[TWO_ROLES, Has("/*/content/*/type")]).below(LISTS),
    Sign::new(42, &[TWO_ROLES, Has("/*/content"), Top("/max_tokens")]).below(LISTS),
    Sign::new(20, &[TWO_ROLES, Has("/*/content")]).below(LISTS),
];

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
