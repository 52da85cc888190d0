//! What a message says, read once: the lines that a note may take, and, of a message that stays, the words and lines that
//! it repeats.

use crate::text::{LineKey, Lines, Word, telling};
use foldback_core::log::{Message, PartKind, Role, ToolCall, Weighed};
use serde_json::Value;

/// What a tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Shows a file.
    Read,
    /// Lists or finds.
    Search,
    /// Runs a program.
    Run,
    /// Changes a file.
    Edit,
    /// Anything else.
    #[default]
    Other,
}

/// A call.
#[derive(Debug)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// What its tool does.
    pub kind: Kind,
    /// Tool and main argument on one line.
    pub label: String,
    /// The text that the call writes into a file; empty if it writes none.
    pub written: String,
    /// Lines of this text.
    pub lines: Lines,
}

/// What a note may take of a message.
#[derive(Debug, Default)]
pub struct NoteSource {
    /// By part, the lines of a result; empty for other parts.
    pub results: Vec<Lines>,
    /// By part, the call.
    pub calls: Vec<Option<Box<Call>>>,
    /// Whether it is an answer of the model.
    pub answer: bool,
}

impl Weighed for NoteSource {
    fn bytes(&self) -> usize {
        let call = |call: &Call| {
            let texts = call.id.len() + call.label.len() + call.written.len();
            size_of::<Call>() + texts + call.lines.bytes()
        };
        self.results.capacity() * (size_of::<Lines>() + size_of::<Option<Box<Call>>>())
            + self.results.iter().map(Lines::bytes).sum::<usize>()
            + self.calls.iter().flatten().map(|made| call(made)).sum::<usize>()
    }
}

/// What a message says beside its results: text that the user or the model wrote, and the arguments of calls.
#[derive(Debug, Default)]
pub struct Wording {
    /// Telling words.
    pub words: Vec<Word>,
    /// Lines of arguments.
    pub keys: Vec<LineKey>,
}

impl Weighed for Wording {
    fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<Word>() + self.keys.capacity() * size_of::<LineKey>()
    }
}

/// Reads a message that stays. The result is kept with it.
pub fn told(message: &Message) -> &Wording {
    message.derived.get_or_weighed(|| {
        let mut out = Wording::default();
        for part in &message.parts {
            match &part.kind {
                PartKind::Call(made) => {
                    strings(&made.arguments_value(), "", &mut |_, text| out.add(text));
                }
                PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => {
                    telling(text, |word| out.words.push(word))
                }
                _ => {}
            }
        }
        out
    })
}

impl Wording {
    /// Adds a string of the arguments.
    fn add(&mut self, text: &str) {
        telling(text, |word| self.words.push(word));
        let patch = is_patch(text);
        let bodies = text.lines().map(|line| match patch {
            true => line.strip_prefix(['+', '-', ' ']).unwrap_or(line).trim(),
            false => line.trim(),
        });
        self.keys.extend(bodies.filter(|body| !body.is_empty()).map(crate::text::key));
    }
}

/// Reads what a note may take. The result is kept with the message.
pub fn said(message: &Message) -> &NoteSource {
    message.derived.get_or_weighed(|| {
        let mut out =
            NoteSource { answer: message.role == Role::Assistant, ..NoteSource::default() };
        for part in &message.parts {
            let (mut lines, mut call) = (Lines::default(), None);
            match &part.kind {
                PartKind::Result(result) => lines = Lines::from_text(&result.text),
                PartKind::Call(made) => call = Some(Box::new(read(made))),
                _ => {}
            }
            out.results.push(lines);
            out.calls.push(call);
        }
        out
    })
}

/// Arguments that say what a call is about, the most telling first.
const MAIN: [&str; 11] = [
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "input",
    "description",
];

fn is_patch(text: &str) -> bool {
    text.contains("*** Begin Patch")
}

fn read(call: &ToolCall) -> Call {
    let value = call.arguments_value();
    let main = match &value {
        Value::String(text) => text.clone(),
        value => MAIN.iter().find_map(|name| value.get(*name)).map(flat).unwrap_or_default(),
    };
    let patch = is_patch(&main);
    let mut kind = if patch { Kind::Edit } else { kind_of(&call.tool) };
    if kind == Kind::Run {
        kind = kind_of_command(&main);
    }
    let shown = match patch {
        true => main
            .lines()
            .filter(|line| line.starts_with("*** ") && line.contains(": "))
            .collect::<Vec<_>>()
            .join(" "),
        false => main.lines().next().unwrap_or_default().to_owned(),
    };
    let mut written = String::new();
    if kind == Kind::Edit {
        strings(&value, "", &mut |name, text| write(name, text, &mut written));
    }
    Call {
        id: call.call_id.clone(),
        kind,
        label: format!("{} {}", call.tool, shown.chars().take(120).collect::<String>()),
        lines: Lines::from_text(&written),
        written,
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Takes what a string of the arguments writes into a file.
fn write(name: &str, text: &str, written: &mut String) {
    if is_patch(text) {
        let added = text.lines().filter_map(|line| line.strip_prefix('+'));
        for line in added.filter(|line| !line.trim().is_empty()) {
            written.push_str(line);
            written.push('\n');
        }
    } else if name.starts_with("new") || name == "content" || name == "file_text" {
        written.push_str(text);
        written.push('\n');
    }
}

/// Calls for every string of the arguments, with the name of its field.
fn strings(value: &Value, name: &str, each: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => each(name, text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, name, each)),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| strings(item, name, each)),
        _ => {}
    }
}

fn kind_of(tool: &str) -> Kind {
    let tool = tool.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    match () {
        () if has(&["edit", "write", "patch", "replace", "create"]) => Kind::Edit,
        () if has(&["grep", "search", "glob", "find", "list", "ls"])
            && !has(&["tools", "false"]) =>
        {
            Kind::Search
        }
        () if has(&["read", "view", "cat", "open"]) => Kind::Read,
        () if has(&["bash", "shell", "exec", "command", "terminal", "run"]) => Kind::Run,
        () => Kind::Other,
    }
}

/// What a command does, by its first program that does not merely change the folder. What a shell is given on its command
/// line counts as run.
fn kind_of_command(command: &str) -> Kind {
    let steps = command.split(['&', ';', '|', '\n', '"']).map(str::trim);
    let mut programs = steps.filter_map(|step| step.split_whitespace().next());
    let aside = ["cd", "bash", "sh", "-lc", "export"];
    let program = programs.find(|program| !aside.contains(program));
    match program.unwrap_or_default() {
        "cat" | "sed" | "head" | "tail" | "nl" | "less" | "bat" => Kind::Read,
        "rg" | "grep" | "find" | "ls" | "fd" | "tree" => Kind::Search,
        _ => Kind::Run,
    }
}
