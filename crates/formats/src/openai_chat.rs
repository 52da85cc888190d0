//! `openai-chat`: messages as OpenAI's Chat Completions API takes them, which most other providers and
//! training sets have adopted. A bare list, a request body `{messages, tools}`, or one of them a line.
//!
//! Every message is one record. The file is what is sent: writing puts the text of an edit in place of
//! the content and leaves out what is hidden. `docs/openai-chat.md` has the mapping.

use crate::bodies::{Body, ToolShape, frame_tools, lines, read_all};
use crate::prelude::*;
use crate::rewrite::rewrite;
use foldback_providers::wire::openai::{self, Writer, records};

pub(crate) const FORMAT: Format = Format::new(
    "openai-chat",
    "OpenAI Chat Completions: message lists and request bodies, also one a line",
    SIGNS,
    |text| read_all(text, conversation),
)
.written(patch, generate)
.request_to(Dialect::OpenAiChat);

/// Roles that only this format's messages have.
const OWN_ROLES: &[&str] = &["system", "developer", "tool", "function"];

/// Where lists of messages stand.
const LISTS: &[&str] = &["", "/messages", "/*/messages"];

const SIGNS: &[Sign] = &[
    Sign::new(
        70,
        &[
            Has("/*/content"),
            Has("/*/role"),
            Any(&[Is("/*/role", OWN_ROLES), Has("/*/tool_calls"), Has("/*/function_call")]),
        ],
    )
    .below(LISTS),
    Sign::new(40, &[Has("/*/content"), Has("/*/role")]).below(LISTS),
];

fn conversation(body: &Body<'_>) -> Result<Session, ReadError> {
    let read = openai::read(&body.root, body.list);
    let mut out = SessionBuilder::read(body.session(FORMAT.id)?, read);
    out.session.model = out.session.model.take().or(out.main_model());
    Ok(out.finish())
}

fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    rewrite(view, &view.sent, &mut Writer { losses })
}

fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let system = view.system().map(|text| json!({"role": "system", "content": text}));
    let list: Vec<Value> = system.chain(records(&view.messages(), losses)).collect();
    let mut out = format!("{{\"messages\":[\n{}\n]", lines(list, ",\n"));
    if let Some(tools) = frame_tools(view.frame, ToolShape::OpenAi, losses) {
        out.push_str(&format!(",\n\"tools\":{tools}"));
    }
    out.push_str("}\n");
    Ok(out)
}
