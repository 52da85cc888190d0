//! `openai-responses`: items as OpenAI's Responses API takes and gives them. A bare list, the body of a
//! request (`input`), a response (`output`), both in one, a list of a conversation (`data`, `items`), or
//! one of these a line; also one item a line.
//!
//! Every item is one record, and the items of one response are one answer. Codex writes the same items
//! into its rollouts, so they are read and made by that format's code. `docs/openai-responses.md` has the
//! mapping.

mod read;
mod write;

use crate::prelude::*;
use foldback_core::validity::Dialect;

pub(crate) const FORMAT: Format = Format::new(
    "openai-responses",
    "OpenAI Responses: items, request bodies and responses, also one a line",
    detect,
    read::read,
)
.written(write::patch, write::generate)
.request_to(Dialect::OpenAiResponses);

/// Where lists of items stand, in the order in which they are sent.
const LISTS: [&str; 5] = ["/input", "/output", "/items", "/data", ""];
/// Types that only items have.
const OWN_TYPES: &[&str] =
    &["function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"];
/// Types of content that only messages among items have.
const OWN_CONTENT: &[&str] = &["input_text", "output_text", "input_image"];

fn detect(_: &str, opening: &Peek) -> u8 {
    let object = ["response", "response.compaction"].iter().any(|kind| opening.is("/object", kind));
    if object && opening.has("/output") {
        return 95;
    }
    let items = |list: &str| {
        let types = opening.values(&format!("{list}/type")).any(|kind| OWN_TYPES.contains(&kind));
        let content = opening
            .values(&format!("{list}/content/*/type"))
            .any(|kind| OWN_CONTENT.contains(&kind));
        let reasoning = opening.is(&format!("{list}/type"), "reasoning")
            && opening.has(&format!("{list}/summary"));
        let sealed = opening.is(&format!("{list}/type"), "compaction")
            && opening.has(&format!("{list}/encrypted_content"));
        types || content || reasoning || sealed
    };
    let found = LISTS.iter().any(|list| items(&format!("{list}/*")));
    // One item a line.
    let line = items("") && opening.has("/type") && !opening.has("/payload");
    // A body of messages alone, in the short form.
    let short = opening.has("/input/*/role") && opening.has("/input/*/content");
    match (found || line, short) {
        (true, _) => 88,
        (false, true) => 60,
        _ => 0,
    }
}
