//! What is noted of the steps that a compaction leaves out: files that were read and edited, with their lines, commands, and what was
//! answered last.

use crate::json::structured;
use crate::turn::{Turn, trimmed};
use foldback_core::log::{PartKind, ToolCall, ToolResult};
use foldback_stages::extractive::files::{Tool, Touch, command, tool, touches};
use foldback_stages::filter::first_units;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// Stands at the beginning of a note.
pub const NOTICE: &str = "<SYSTEM_NOTICE>\nThe steps after the message above were left out for brevity; what they touched:\n";

/// Files and commands of some steps, each named once.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    read: Vec<String>,
    edited: Vec<String>,
    commands: Vec<String>,
}

fn push(list: &mut Vec<String>, value: &str) {
    let value = trimmed(value);
    if !value.is_empty() && !list.iter().any(|known| known == value) {
        list.push(value.to_owned());
    }
}

impl Activity {
    /// What these messages did. Commands are cut after so many units.
    pub(crate) fn from_turns(turns: &[Turn<'_>], command_chars: usize) -> Self {
        let mut activity = Self::default();
        // Files by the calls that edit them, until their results come.
        let mut editing: Vec<(&str, String)> = Vec::new();
        for block in turns.iter().flat_map(|turn| &turn.blocks) {
            match &block.part.kind {
                PartKind::Call(call) => {
                    let call_id = call.call_id.as_str();
                    let shown = ToolCall { arguments: block.shown.to_string(), ..call.clone() };
                    let Some(path) = activity.call(&shown, command_chars) else { continue };
                    match editing.iter_mut().find(|(id, _)| *id == call_id) {
                        Some((_, known)) => *known = path,
                        None => editing.push((call_id, path)),
                    }
                }
                PartKind::Result(result) => {
                    let call = editing.iter().position(|(id, _)| *id == result.call_id);
                    let Some(call) = call else { continue };
                    let (_, path) = editing.remove(call);
                    let lines = edited_lines(result, &block.shown);
                    let lines =
                        lines.map_or(String::new(), |(first, last)| format!(":{first}-{last}"));
                    push(&mut activity.edited, &format!("{path}{lines}"));
                }
                _ => {}
            }
        }
        for (_, path) in editing {
            push(&mut activity.edited, &path);
        }
        activity
    }

    /// Notes what a call reads and runs, and gives the file that it edits.
    fn call(&mut self, call: &ToolCall, command_chars: usize) -> Option<String> {
        let input = call.arguments_value();
        match call.tool.as_str() {
            "read_files" => match input.get("files").and_then(Value::as_array) {
                Some(files) => {
                    files.iter().filter_map(read_lines).for_each(|file| push(&mut self.read, &file))
                }
                None => paths(&input).iter().for_each(|path| push(&mut self.read, path)),
            },
            "editor" | "apply_patch" => return paths(&input).into_iter().next(),
            "run_commands" => {
                let commands = input.get("commands").and_then(Value::as_array);
                for command in commands.into_iter().flatten().filter_map(Value::as_str) {
                    self.command(command, command_chars);
                }
            }
            _ => return self.other(call, &input, command_chars),
        }
        None
    }

    /// The same for a tool of another agent.
    fn other(&mut self, call: &ToolCall, input: &Value, command_chars: usize) -> Option<String> {
        if tool(&call.tool) == Tool::Shell {
            if let Some(command) = command(input) {
                self.command(&command, command_chars);
            }
            return None;
        }
        let mut edited = None;
        for (path, touch) in touches(call, input) {
            match touch {
                Touch::Read => push(&mut self.read, &path),
                _ => edited = edited.or(Some(path)),
            }
        }
        edited
    }

    fn command(&mut self, command: &str, chars: usize) {
        let command = trimmed(command);
        match first_units(command, chars) {
            Some((cut, _)) => push(&mut self.commands, &format!("{cut}...")),
            None => push(&mut self.commands, command),
        }
    }

    /// The note; `None` where there is nothing to note.
    pub(crate) fn note(&self, answers: &[String]) -> Option<String> {
        let Self { read, edited, commands } = self;
        if read.is_empty() && edited.is_empty() && commands.is_empty() && answers.is_empty() {
            return None;
        }
        let answers = match answers {
            [] => String::new(),
            answers => format!("\n\nYour recent responses:\n{}", answers.join("\n---\n")),
        };
        let lists = [("Files read", read), ("Files edited", edited), ("Commands ran", commands)];
        let lists = lists.map(|(name, list)| format!("{name}:\n{}", list.join("\n")));
        Some(format!("{NOTICE}{}{answers}</SYSTEM_NOTICE>", lists.join("\n\n")))
    }
}

/// A file as a call of `read_files` asks for it.
fn read_lines(file: &Value) -> Option<String> {
    let path = trimmed(file.get("path")?.as_str()?);
    let number = |name: &str| file.get(name).and_then(Value::as_number);
    (!path.is_empty()).then(|| match (number("start_line"), number("end_line")) {
        (Some(first), Some(last)) => format!("{path}:{first}-{last}"),
        _ => path.to_owned(),
    })
}

/// The paths in the arguments of a call.
fn paths(input: &Value) -> Vec<String> {
    match input {
        Value::String(path) if !trimmed(path).is_empty() => vec![path.clone()],
        Value::Array(items) => items.iter().flat_map(paths).collect(),
        Value::Object(fields) => {
            let names = ["path", "file_path", "target_file", "new_file_path", "old_file_path"];
            let own = names.iter().filter_map(|name| fields.get(*name));
            let files = fields.get("files").and_then(Value::as_array);
            let files = files.into_iter().flatten().filter_map(|file| file.get("path"));
            let listed = fields.get("file_paths").filter(|paths| paths.is_array());
            own.chain(files).chain(listed).flat_map(paths).collect()
        }
        _ => Vec::new(),
    }
}

/// The lines that an edit touched, by the numbers of the diff in its result.
fn edited_lines(result: &ToolResult, shown: &str) -> Option<(u64, u64)> {
    static LINE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:^|\n|\\n)[-+]([0-9]+): ").ok());
    let texts = structured(result, shown).and_then(Value::as_array).map(|blocks| {
        let text = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
        blocks.iter().map(|block| text(block).unwrap_or_default()).collect::<Vec<_>>().join("\n")
    });
    let shown = texts.as_deref().unwrap_or(shown);
    let json = serde_json::from_str::<Value>(shown).ok();
    let inner = json.as_ref().and_then(|json| json.get("result")?.as_str());
    let found = LINE.as_ref()?.captures_iter(inner.unwrap_or(shown));
    let numbers: Vec<u64> = found.filter_map(|found| found[1].parse().ok()).collect();
    Some((*numbers.iter().min()?, *numbers.iter().max()?))
}
