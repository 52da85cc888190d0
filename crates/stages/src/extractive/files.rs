//! Files that a tool call reads, creates or modifies.
//!
//! Harnesses name their tools alike and their arguments nearly so; what is recognized here are the
//! common names (`read`, `view`, `write`, `edit`, `str_replace_editor`, `apply_patch`, `bash`, …), whatever
//! their spelling.

use super::shell;
pub use super::shell::Touch;
use foldback_core::log::ToolCall;
use serde_json::Value;

/// The kind of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Reads, creates or modifies the files in its arguments.
    Files(Touch),
    /// Does what its argument `command` says.
    Editor,
    /// Takes a patch that names its files.
    Patch,
    /// Runs a command.
    Shell,
    /// Keeps a to-do list.
    Todo,
    /// Anything else.
    Other,
}

/// What kind of tool has this name.
pub fn tool(name: &str) -> Tool {
    let last = name.rsplit("__").next().unwrap_or(name);
    let plain: String =
        last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match plain.as_str() {
        "read" | "readfile" | "view" | "viewfile" | "cat" | "open" | "openfile" | "fsread"
        | "readfiles" | "readmanyfiles" | "readmultiplefiles" | "getfilecontents"
        | "notebookread" => Tool::Files(Touch::Read),
        "write" | "writefile" | "writetofile" | "create" | "createfile" | "createnewfile"
        | "newfile" | "fswrite" | "savefile" => Tool::Files(Touch::Created),
        "edit" | "editfile" | "multiedit" | "strreplace" | "replace" | "replaceinfile"
        | "searchreplace" | "notebookedit" | "insert" | "update" | "updatefile" | "applydiff"
        | "undoedit" => Tool::Files(Touch::Modified),
        "strreplaceeditor" | "strreplacebasededittool" | "fileeditor" => Tool::Editor,
        "applypatch" | "patch" => Tool::Patch,
        "bash" | "shell" | "sh" | "exec" | "execcommand" | "execute" | "executebash"
        | "executecommand" | "runcommand" | "runshellcommand" | "runterminalcmd"
        | "runinterminal" | "terminal" | "localshell" | "shellcommand" | "run"
        | "containerexec" => Tool::Shell,
        "todowrite" | "writetodos" | "updateplan" | "updatetodolist" | "managetodolist"
        | "todo" | "todos" | "todolist" | "settodolist" | "tasktracker" => Tool::Todo,
        _ => Tool::Other,
    }
}

/// The command that a shell tool was asked to run.
pub fn command(arguments: &Value) -> Option<String> {
    let value = match arguments {
        Value::Object(fields) => {
            ["command", "cmd", "script"].iter().find_map(|name| fields.get(*name))?
        }
        other => other,
    };
    match value {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, "-lc" | "-c", script] => Some((*script).to_owned()),
                _ => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

/// The files that a call touches, in order.
pub fn touches(call: &ToolCall, arguments: &Value) -> Vec<(String, Touch)> {
    match tool(&call.tool) {
        Tool::Files(touch) => paths(arguments).into_iter().map(|path| (path, touch)).collect(),
        Tool::Editor => {
            let touch = match arguments.get("command").and_then(Value::as_str) {
                Some("view") => Touch::Read,
                Some("create") => Touch::Created,
                _ => Touch::Modified,
            };
            let paths = paths(arguments).into_iter();
            paths.map(|path| (path, touch)).collect()
        }
        Tool::Patch => patch_text(arguments).map_or(Vec::new(), patched),
        Tool::Shell => command(arguments).map_or(Vec::new(), |command| {
            if command.contains("*** Begin Patch") {
                patched(&command)
            } else {
                shell::touches(&command)
            }
        }),
        // A tool without a name for its arguments: text actions are commands.
        Tool::Other if arguments.is_string() => {
            command(arguments).map_or(Vec::new(), |command| shell::touches(&command))
        }
        Tool::Todo | Tool::Other => Vec::new(),
    }
}

const PATH_FIELDS: [&str; 10] = [
    "file_path",
    "filePath",
    "path",
    "filename",
    "file",
    "target_file",
    "absolute_path",
    "notebook_path",
    "relative_path",
    "relative_workspace_path",
];

/// The paths that arguments name in their fields, in the spelling of the call.
pub fn paths(arguments: &Value) -> Vec<String> {
    let Some(fields) = arguments.as_object() else {
        return arguments
            .as_str()
            .and_then(|text| text.split_whitespace().next())
            .and_then(as_path)
            .into_iter()
            .collect();
    };
    let one = PATH_FIELDS.iter().find_map(|name| as_path(fields.get(*name)?.as_str()?));
    if let Some(path) = one {
        return vec![path];
    }
    ["paths", "files", "file_paths"]
        .iter()
        .find_map(|name| fields.get(*name)?.as_array())
        .into_iter()
        .flatten()
        .filter_map(|item| match item {
            Value::String(path) => as_path(path),
            other => PATH_FIELDS.iter().find_map(|name| as_path(other.get(name)?.as_str()?)),
        })
        .collect()
}

fn as_path(text: &str) -> Option<String> {
    let text = text.trim();
    let fine =
        text.len() < 300 && !text.contains('\n') && text.contains(|c: char| c.is_alphanumeric());
    fine.then(|| text.to_owned())
}

fn patch_text(arguments: &Value) -> Option<&str> {
    match arguments {
        Value::String(text) => Some(text),
        Value::Object(fields) => ["input", "patch", "patchText", "patch_text", "diff"]
            .iter()
            .find_map(|name| fields.get(*name)?.as_str()),
        _ => None,
    }
}

/// Files that a patch names, in the form of `apply_patch` or of a unified diff.
fn patched(patch: &str) -> Vec<(String, Touch)> {
    let mut out = Vec::new();
    let mut created = false;
    for line in patch.lines() {
        let named = [
            ("*** Add File: ", Touch::Created),
            ("*** Update File: ", Touch::Modified),
            ("*** Delete File: ", Touch::Modified),
            ("*** Move to: ", Touch::Created),
        ]
        .iter()
        .find_map(|(prefix, touch)| Some((line.strip_prefix(prefix)?, *touch)));
        if line.starts_with("--- ") {
            created = line.starts_with("--- /dev/null");
        }
        let diffed = line.strip_prefix("+++ b/").map(|path| {
            let touch = if created { Touch::Created } else { Touch::Modified };
            (path, touch)
        });
        if let Some((path, touch)) = named.or(diffed) {
            out.extend(as_path(path).map(|path| (path, touch)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_as_a_table() {
        use Touch::{Created, Modified, Read};
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+x\n*** Update File: b.rs\n*** End Patch";
        type Case = (&'static str, Value, &'static [(&'static str, Touch)]);
        let cases: [Case; 14] = [
            ("Read", json!({"file_path": "/w/a.rs"}), &[("/w/a.rs", Read)]),
            ("read_file", json!({"path": "a.rs", "offset": 3}), &[("a.rs", Read)]),
            ("mcp__fs__write_file", json!({"path": "a.rs"}), &[("a.rs", Created)]),
            ("edit", json!({"filePath": "a.rs"}), &[("a.rs", Modified)]),
            ("MultiEdit", json!({"file_path": "a.rs", "edits": []}), &[("a.rs", Modified)]),
            ("str_replace_editor", json!({"command": "view", "path": "a.rs"}), &[("a.rs", Read)]),
            (
                "str_replace_editor",
                json!({"command": "create", "path": "a.rs"}),
                &[("a.rs", Created)],
            ),
            (
                "str_replace_editor",
                json!({"command": "insert", "path": "a.rs"}),
                &[("a.rs", Modified)],
            ),
            ("apply_patch", json!({"input": patch}), &[("a.rs", Created), ("b.rs", Modified)]),
            ("apply_patch", json!(patch), &[("a.rs", Created), ("b.rs", Modified)]),
            ("shell", json!({"command": ["bash", "-lc", "cat a.rs"]}), &[("a.rs", Read)]),
            ("bash", json!("cat a.rs"), &[("a.rs", Read)]),
            (
                "read_many_files",
                json!({"paths": ["a.rs", "b.rs"]}),
                &[("a.rs", Read), ("b.rs", Read)],
            ),
            ("grep", json!({"path": "src", "pattern": "x"}), &[]),
        ];
        for (name, arguments, expected) in cases {
            let call = ToolCall {
                call_id: "c".to_owned(),
                tool: name.to_owned(),
                arguments: arguments.to_string(),
            };
            let expected: Vec<(String, Touch)> =
                expected.iter().map(|(path, touch)| ((*path).to_owned(), *touch)).collect();
            assert_eq!(touches(&call, &arguments), expected, "{name} {arguments}");
        }
    }

    #[test]
    fn a_unified_diff_names_its_files() {
        let diff = "--- a/x.rs\n+++ b/x.rs\n@@\n--- /dev/null\n+++ b/y.rs\n";
        let expected = [("x.rs", Touch::Modified), ("y.rs", Touch::Created)];
        assert_eq!(patched(diff), expected.map(|(path, touch)| (path.to_owned(), touch)));
    }
}
