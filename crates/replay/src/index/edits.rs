//! What an edit needs to see: the old text that it names, word for word.

use foldback_core::log::{Message, ToolCall};
use serde_json::Value;
use std::borrow::Cow;

/// Argument names under which tools are given the text that they replace.
const OLD_TEXT: [&str; 7] =
    ["old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search"];

/// The old texts of all edits that an answer asks for, in order.
pub(super) fn preconditions(answer: &Message) -> Vec<String> {
    let mut out = Vec::new();
    for call in answer.parts.iter().filter_map(|part| part.as_call()) {
        of_value(&call.arguments_value(), edits(call), &mut out);
    }
    out.retain(|text| !text.trim().is_empty());
    out
}

/// `search` is also what search tools call their query; there it is no old text.
fn edits(call: &ToolCall) -> bool {
    let tool = call.tool.to_ascii_lowercase();
    ["edit", "replace", "patch", "diff", "write"].iter().any(|word| tool.contains(word))
}

fn of_value(value: &Value, edits: bool, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let old = OLD_TEXT.contains(&name.as_str()) && (edits || name != "search");
                match value {
                    Value::String(text) if old => out.push(text.clone()),
                    _ => of_value(value, edits, out),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                of_value(value, edits, out);
            }
        }
        Value::String(text) => {
            if text.contains("*** Begin Patch") {
                patch(text, out);
            } else if text.contains(" SEARCH") {
                search_blocks(text, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Context and removed lines of the hunks of an `apply_patch` envelope (Codex).
fn patch(text: &str, out: &mut Vec<String>) {
    let mut hunk: Vec<&str> = Vec::new();
    let mut update = false;
    let mut flush = |hunk: &mut Vec<&str>| {
        if !hunk.is_empty() {
            out.push(hunk.join("\n"));
            hunk.clear();
        }
    };
    for line in text.lines() {
        if line.starts_with("*** ") || line.starts_with("@@") {
            flush(&mut hunk);
            if line.starts_with("*** ") && !line.starts_with("*** End of File") {
                update = line.starts_with("*** Update File") || line.starts_with("*** Move to");
            }
        } else if update {
            if let Some(old) = line.strip_prefix([' ', '-']) {
                hunk.push(old);
            } else if line.is_empty() {
                hunk.push("");
            }
        }
    }
    flush(&mut hunk);
}

/// The upper halves of search-and-replace blocks (`<<<<<<< SEARCH`, `------- SEARCH`).
fn search_blocks(text: &str, out: &mut Vec<String>) {
    let mut block: Option<Vec<&str>> = None;
    for line in text.lines() {
        let fence = line.trim_end();
        if fence.ends_with(" SEARCH") && (fence.starts_with("<<<") || fence.starts_with("---")) {
            block = Some(Vec::new());
        } else if fence.len() >= 5 && fence.bytes().all(|byte| byte == b'=') {
            if let Some(lines) = block.take() {
                out.push(lines.join("\n"));
            }
        } else if let Some(lines) = &mut block {
            // Roo Code writes where the block starts into the block.
            if !fence.starts_with(":start_line:") && fence != "-------" {
                lines.push(line);
            }
        }
    }
}

/// A listing without its line numbers, so that text of several lines is found in it. Texts that are
/// no listing come back as they are.
pub(super) fn without_gutter(text: &str) -> Cow<'_, str> {
    let numbered = |line: &str| gutter(line).is_some();
    if !text.lines().take(8).any(numbered) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.lines().map(|line| gutter(line).unwrap_or(line)).collect();
    Cow::Owned(lines.join("\n"))
}

/// What stands behind a line number: `  12→x` (Claude Code), `    12\tx` (`cat -n`, SWE-agent),
/// `00012| x` (OpenCode).
fn gutter(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    let figures = rest.bytes().take_while(u8::is_ascii_digit).count();
    if figures == 0 {
        return None;
    }
    let rest = &rest[figures..];
    rest.strip_prefix('→')
        .or_else(|| rest.strip_prefix('\t'))
        .or_else(|| rest.strip_prefix("| "))
        .or_else(|| rest.strip_prefix('|').filter(|rest| rest.is_empty()))
}
