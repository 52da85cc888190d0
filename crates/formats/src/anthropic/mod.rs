//! `anthropic`: messages as Anthropic's Messages API takes them. A request body
//! `{system, messages, tools}`, a bare list of messages with content blocks, or one of them a line.
//!
//! Tool results are blocks of user messages here; reading gives each a message of its own with the same
//! record. The file is what is sent: writing puts the text of an edit in place of the content and
//! leaves out what is hidden. `docs/anthropic.md` has the mapping.

pub(crate) mod read;
mod write;

use crate::prelude::*;
use foldback_core::validity::Dialect;

pub(crate) const FORMAT: Format = Format::new(
    "anthropic",
    "Anthropic Messages API: request bodies and message lists, also one a line",
    detect,
    read::read,
)
.written(write::patch, write::generate)
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
