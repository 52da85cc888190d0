//! What calls did with files, and which results report a failure.

use super::{Message, Part, ResultStatus};
use serde_json::Value;

/// What a call does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It shows the file.
    Read,
    /// It writes the whole file.
    Write,
    /// It changes a part of the file.
    Edit,
    /// It makes the file.
    Create,
}

/// Argument names of the file that a tool works on, most telling first.
pub const PATH_FIELDS: [&str; 9] = [
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "target_file",
    "filename",
    "file",
    "path",
    "filepath",
];

/// What a part does with which files, if it is a call.
pub fn actions(part: &Part) -> Vec<(Action, String)> {
    let Some(call) = part.as_call() else {
        return Vec::new();
    };
    let arguments = call.arguments_value();
    let mut out = Vec::new();
    patched(&arguments, &mut out);
    if !out.is_empty() {
        return out;
    }
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let Some(path) = PATH_FIELDS.iter().find_map(|name| text(name)) else {
        return out;
    };
    let action = match text("command") {
        // Editors with several commands in one tool (Anthropic, SWE-agent, OpenHands).
        Some("view") => Some(Action::Read),
        Some("create") => Some(Action::Create),
        Some("str_replace" | "insert" | "undo_edit") => Some(Action::Edit),
        _ => action_of(&call.tool),
    };
    if let Some(action) = action {
        out.push((action, path.trim_start_matches("./").to_owned()));
    }
    out
}

/// What tools of this name do. Searching and listing is not reading.
pub fn action_of(tool: &str) -> Option<Action> {
    let tool = tool.to_ascii_lowercase();
    let has = |word: &str| tool.contains(word);
    if has("todo") || has("search") || has("list") || has("glob") || has("grep") {
        None
    } else if has("edit") || has("replace") || has("patch") || has("insert") || has("apply_diff") {
        Some(Action::Edit)
    } else if has("write") || has("create") {
        Some(Action::Write)
    } else if has("read") || has("view") || has("open") || tool == "cat" {
        Some(Action::Read)
    } else {
        None
    }
}

/// The files of `apply_patch` envelopes anywhere in the arguments.
fn patched(value: &Value, out: &mut Vec<(Action, String)>) {
    match value {
        Value::String(text) if text.contains("*** Begin Patch") => {
            for line in text.lines() {
                if let Some(path) = line.strip_prefix("*** Add File: ") {
                    out.push((Action::Create, path.trim().to_owned()));
                } else if let Some(path) = line.strip_prefix("*** Update File: ") {
                    out.push((Action::Edit, path.trim().to_owned()));
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| patched(value, out)),
        Value::Object(fields) => fields.values().for_each(|value| patched(value, out)),
        _ => {}
    }
}

/// Beginnings of lines that tell a failure in results that the recorder did not mark as failed.
const FAILURES: [&str; 10] = [
    "Traceback (most recent call last)",
    "error:",
    "error[",
    "Error:",
    "ERROR:",
    "FAILED",
    "FAIL ",
    "npm ERR!",
    "fatal:",
    "panicked at",
];

/// Whether a message is the result of a tool run that failed, or of a command that reports a failure.
pub fn is_failure(message: &Message) -> bool {
    message.parts.iter().filter_map(|part| part.as_result()).any(|result| {
        matches!(result.status, ResultStatus::Error | ResultStatus::Retry)
            || result.text.lines().any(tells_failure)
    })
}

fn tells_failure(line: &str) -> bool {
    let line = line.trim_start();
    FAILURES.iter().any(|start| line.starts_with(start))
}

/// The part and the line of a failure that say what went wrong: the first line that tells it, of a traceback the one that
/// it ends with, else the first line.
pub fn failure_line(message: &Message) -> Option<(usize, &str)> {
    let results = message.parts.iter().enumerate();
    let mut results = results.filter_map(|(at, part)| Some((at, part.as_result()?)));
    results.find_map(|(at, result)| {
        let mut lines = result.text.lines().skip_while(|line| !tells_failure(line));
        let line = match lines.next() {
            Some(line) if line.trim_start().starts_with("Traceback") => {
                lines.find(|line| !line.trim().is_empty() && !line.starts_with(char::is_whitespace))
            }
            Some(line) => Some(line),
            None => result.text.lines().find(|line| !line.trim().is_empty()),
        };
        Some((at, line?))
    })
}
