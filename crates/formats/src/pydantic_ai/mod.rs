//! `pydantic-ai`: what `ModelMessagesTypeAdapter.dump_json` prints, a list of requests and responses
//! made of parts. tunacode's sessions hold the same list, with plain dictionaries between its messages.
//!
//! A request may hold a system prompt, several tool returns and a user prompt; reading gives each tool
//! return a message of its own (`read`). The file is what is sent, so writing puts the text of an edit
//! in place of the content and leaves out what is hidden (`write`); sessions of other formats become
//! lists that the Python package loads (`generate`). `docs/pydantic-ai.md` has the mapping.

mod read;
mod write;

pub use write::items;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "pydantic-ai",
    "pydantic-ai: message history JSON (ModelMessagesTypeAdapter), and tunacode's sessions",
    SIGNS,
    read::read,
)
.written(write::patch, write::generate)
.sent_to(Dialect::OpenAiChat);

/// Id of a part that Anthropic hid.
const REDACTED: &str = "redacted_thinking";

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Has("/*/parts/*/part_kind")]).below(&["", "/messages"]),
    Sign::new(95, &[Is("/*/kind", &["request", "response"]), Has("/*/parts")])
        .below(&["", "/messages"]),
    // A session of tunacode without a message.
    Sign::new(85, &[Has("/session_id"), Has("/react_scratchpad")]),
];
