//! `openai-chat`: messages as OpenAI's Chat Completions API takes them, which most other providers and
//! training sets have adopted. A bare list, a request body `{messages, tools}`, or one of them a line.
//!
//! Every message is one record. The file is what is sent: writing puts the text of an edit in place of
//! the content and leaves out what is hidden. `docs/openai-chat.md` has the mapping.

pub(crate) mod read;
mod write;

use crate::prelude::*;
use foldback_core::validity::Dialect;

pub(crate) const FORMAT: Format = Format::new(
    "openai-chat",
    "OpenAI Chat Completions: message lists and request bodies, also one a line",
    detect,
    read::read,
)
.written(write::patch, write::generate)
.request_to(Dialect::OpenAiChat);

/// Roles that only this format's messages have.
const OWN_ROLES: &[&str] = &["system", "developer", "tool", "function"];

fn detect(_: &str, opening: &Peek) -> u8 {
    ["", "/messages", "/*/messages"]
        .iter()
        .map(|list| {
            let roles = format!("{list}/*/role");
            let own_role = opening.values(&roles).any(|role| OWN_ROLES.contains(&role));
            let own_key = opening.has(&format!("{list}/*/tool_calls"))
                || opening.has(&format!("{list}/*/function_call"));
            if !opening.has(&roles) || !opening.has(&format!("{list}/*/content")) {
                0
            } else if own_role || own_key {
                70
            } else {
                40
            }
        })
        .max()
        .unwrap_or(0)
}
