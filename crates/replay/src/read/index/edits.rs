//! What an edit needs to see: the old text that it names, and its file.

use foldback_core::log::acts::PATH_FIELDS;
use foldback_core::log::{Message, ToolCall};
use serde_json::Value;

/// The old text of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OldText {
    pub(super) text: String,
    /// The file, as far as the call names one.
    pub(super) file: Option<String>,
}

/// Argument names under which tools are given the text that they replace.
const OLD_TEXT: [&str; 7] =
    ["old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "search"];

/// The old texts of all edits that an answer asks for, in order.
pub(super) fn preconditions(answer: &Message) -> Vec<OldText> {
    answer.parts.iter().filter_map(|part| part.as_call()).flat_map(old_texts).collect()
}

/// The old texts that a call names; none if it is no edit.
pub(super) fn old_texts(call: &ToolCall) -> Vec<OldText> {
    let mut out = Vec::new();
    of_value(&call.arguments_value(), edits(call), None, &mut out);
    out.retain(|old| !old.text.trim().is_empty());
    out
}

/// `search` is also what search tools call their query; there it is no old text.
fn edits(call: &ToolCall) -> bool {
    let tool = call.tool.to_ascii_lowercase();
    ["edit", "replace", "patch", "diff", "write"].iter().any(|word| tool.contains(word))
}

/// `file` is the file that the objects around a value name.
fn of_value(value: &Value, edits: bool, file: Option<&str>, out: &mut Vec<OldText>) {
    match value {
        Value::Object(fields) => {
            let named = |name: &&str| fields.get(*name).and_then(Value::as_str);
            let file = PATH_FIELDS.iter().find_map(named).or(file);
            for (name, value) in fields {
                let old = OLD_TEXT.contains(&name.as_str()) && (edits || name != "search");
                match value {
                    Value::String(text) if old => {
                        out.push(OldText { text: text.clone(), file: file.map(str::to_owned) });
                    }
                    _ => of_value(value, edits, file, out),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                of_value(value, edits, file, out);
            }
        }
        Value::String(text) => {
            if text.contains("*** Begin Patch") {
                patch(text, out);
            } else if text.contains(" SEARCH") {
                search_blocks(text, file, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Context and removed lines of the hunks of an `apply_patch` envelope (Codex).
fn patch(text: &str, out: &mut Vec<OldText>) {
    let mut hunk: Vec<&str> = Vec::new();
    let mut file: Option<&str> = None;
    let mut flush = |hunk: &mut Vec<&str>, file: Option<&str>| {
        if !hunk.is_empty() {
            out.push(OldText { text: hunk.join("\n"), file: file.map(str::to_owned) });
            hunk.clear();
        }
    };
    for line in text.lines() {
        if line.starts_with("*** ") || line.starts_with("@@") {
            flush(&mut hunk, file);
            if let Some(path) = line.strip_prefix("*** Update File:") {
                file = Some(path.trim());
            } else if line.starts_with("*** ")
                && !line.starts_with("*** End of File")
                && !line.starts_with("*** Move to")
            {
                file = None;
            }
        } else if file.is_some() {
            if let Some(old) = line.strip_prefix([' ', '-']) {
                hunk.push(old);
            } else if line.is_empty() {
                hunk.push("");
            }
        }
    }
    flush(&mut hunk, file);
}

/// The upper halves of search-and-replace blocks (`<<<<<<< SEARCH`, `------- SEARCH`).
fn search_blocks(text: &str, file: Option<&str>, out: &mut Vec<OldText>) {
    let mut block: Option<Vec<&str>> = None;
    for line in text.lines() {
        let fence = line.trim_end();
        if fence.ends_with(" SEARCH") && (fence.starts_with("<<<") || fence.starts_with("---")) {
            block = Some(Vec::new());
        } else if fence.len() >= 5 && fence.bytes().all(|byte| byte == b'=') {
            if let Some(lines) = block.take() {
                let file = file.map(str::to_owned);
                out.push(OldText { text: lines.join("\n"), file });
            }
        } else if let Some(lines) = &mut block {
            // Roo Code writes where the block starts into the block.
            if !fence.starts_with(":start_line:") && fence != "-------" {
                lines.push(line);
            }
        }
    }
}
