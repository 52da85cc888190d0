//! What must be kept in any case: the user's instructions, the latest error, the plan, and
//! which files were read, created and changed. Ground truth comes from the log alone, without a model.

use super::rows::Share;
use foldback_core::log::{Message, Part, ResultStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// What must be kept and was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MustKeep {
    /// User messages that stand word for word in the view at the end.
    pub instructions_end: Share,
    /// The same at the call with the lowest share, the first such call.
    pub instructions_worst: Share,
    /// Calls after a failed tool run or a failing test whose view shows the latest of them.
    pub last_error: Share,
    /// Calls after an update of the plan (a to-do list) whose view shows the latest of them.
    pub plan: Share,
    /// Files, at the end.
    pub trail: ArtifactTrail,
}

/// What the view at the end still shows about the files that the agent touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArtifactTrail {
    /// Files that were read.
    pub read: SetRecall,
    /// Files that were created.
    pub created: SetRecall,
    /// Files that were there and were changed.
    pub modified: SetRecall,
}

/// A set of files as the log has it against the set that the calls in the view amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SetRecall {
    /// Files of the log.
    pub truth: u64,
    /// Files of the visible calls, by the same rules. A view that has lost how a file came to be
    /// takes a change of it for its creation.
    pub found: u64,
    /// Files in both.
    pub correct: u64,
    /// Files of the log whose path stands anywhere in the view, in summaries too.
    pub mentioned: u64,
}

impl SetRecall {
    /// Harmonic mean of precision and recall; `None` where the log has no such file.
    pub fn f1(&self) -> Option<f64> {
        (self.truth > 0).then(|| 2.0 * self.correct as f64 / (self.truth + self.found) as f64)
    }
}

/// Files by what was done to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trail<'a> {
    pub(super) read: BTreeSet<&'a str>,
    pub(super) created: BTreeSet<&'a str>,
    pub(super) modified: BTreeSet<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Read,
    Write,
    Edit,
    Create,
}

impl<'a> Trail<'a> {
    /// Takes over what a call did with a file.
    pub(super) fn take(&mut self, action: Action, path: &'a str) {
        let known =
            self.read.contains(path) || self.created.contains(path) || self.modified.contains(path);
        match action {
            Action::Read => {
                self.read.insert(path);
            }
            Action::Write | Action::Create if !known => {
                self.created.insert(path);
            }
            // What was created in the session stays created, however often it is changed.
            Action::Write | Action::Create | Action::Edit => {
                if !self.created.contains(path) {
                    self.modified.insert(path);
                }
            }
        }
    }

    /// Compares the trail of the log with the one of the visible calls.
    pub(super) fn against(&self, found: &Self, mentioned: impl Fn(&str) -> bool) -> ArtifactTrail {
        let compare = |truth: &BTreeSet<&str>, found: &BTreeSet<&str>| SetRecall {
            truth: truth.len() as u64,
            found: found.len() as u64,
            correct: truth.intersection(found).count() as u64,
            mentioned: truth.iter().filter(|path| mentioned(path)).count() as u64,
        };
        ArtifactTrail {
            read: compare(&self.read, &found.read),
            created: compare(&self.created, &found.created),
            modified: compare(&self.modified, &found.modified),
        }
    }
}

/// Argument names of the file that a tool works on, most telling first.
pub(crate) const PATH_FIELDS: [&str; 9] = [
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
pub(crate) fn actions(part: &Part) -> Vec<(Action, String)> {
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
fn action_of(tool: &str) -> Option<Action> {
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
pub(crate) fn is_failure(message: &Message) -> bool {
    message.parts.iter().filter_map(|part| part.as_result()).any(|result| {
        matches!(result.status, ResultStatus::Error | ResultStatus::Retry)
            || result.text.lines().any(|line| {
                let line = line.trim_start();
                FAILURES.iter().any(|start| line.starts_with(start))
            })
    })
}

/// The part of a message that writes the plan down, if there is one: a call of a to-do tool.
pub(crate) fn plan_part(message: &Message) -> Option<usize> {
    message.parts.iter().rposition(|part| {
        part.as_call().is_some_and(|call| {
            let tool = call.tool.to_ascii_lowercase();
            (tool.contains("todo") && !tool.contains("read")) || tool == "update_plan"
        })
    })
}
