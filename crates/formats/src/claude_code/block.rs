//! Content blocks of one line, in the Messages API's shape.

use crate::prelude::*;
use foldback_providers::wire::anthropic::{self, media};

/// Where the strings of a line lie.
pub(super) const CONTENT: &str = "/message/content";

/// A block of a user or assistant line that is not a tool result.
pub(super) fn part(block: &Value, index: usize) -> Part {
    let at = format!("{CONTENT}/{index}");
    anthropic::part(block, &at)
        .unwrap_or_else(|| unknown(block["type"].as_str().unwrap_or_default(), block).at(at))
}

/// A `tool_result` block. Its content is a string or a list of blocks; texts are joined by newlines.
pub(super) fn result(block: &Value, index: usize) -> Part {
    let mut text = String::new();
    let mut media_found = Vec::new();
    let mut push = |line: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    };
    match &block["content"] {
        Value::String(whole) => push(whole),
        Value::Array(blocks) => {
            for inner in blocks {
                match inner["type"].as_str() {
                    Some("text") => push(inner["text"].as_str().unwrap_or_default()),
                    Some("image" | "document") => media_found.push(media(inner)),
                    _ => push(&inner.to_string()),
                }
            }
        }
        Value::Null => {}
        other => push(&other.to_string()),
    }
    let call = value::text(block, "tool_use_id").unwrap_or_default();
    let failed = value::flag(block, "is_error");
    crate::prelude::result(call, "", failed, text, media_found)
        .at(format!("{CONTENT}/{index}/content"))
}
