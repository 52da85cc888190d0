//! What a message says, read once: the lines of its results, and the words and lines of its calls.

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
    /// Telling words of its arguments.
    pub terms: Vec<Word>,
    /// Lines of its arguments.
    pub keys: Vec<LineKey>,
    /// The text that the call writes into a file; empty if it writes none.
    pub written: String,
    /// Lines of this text.
    pub lines: Lines,
}

/// What a message says.
#[derive(Debug, Default)]
pub struct Said {
    /// By part, the lines of a result; empty for other parts.
    pub results: Vec<Lines>,
    /// By part, the call.
    pub calls: Vec<Option<Box<Call>>>,
    /// Telling words of text that the user or the model wrote.
    pub prose: Vec<Word>,
    /// Whether it is an answer of the model.
    pub answer: bool,
}

impl Weighed for Said {
    fn bytes(&self) -> usize {
        let call = |call: &Call| {
            let texts = call.id.len() + call.label.len() + call.written.len();
            let hashes = size_of_val(&call.keys[..]) + size_of_val(&call.terms[..]);
            size_of::<Call>() + texts + hashes + call.lines.bytes()
        };
        self.results.capacity() * (size_of::<Lines>() + size_of::<Option<Box<Call>>>())
            + self.results.iter().map(Lines::bytes).sum::<usize>()
            + self.calls.iter().flatten().map(|made| call(made)).sum::<usize>()
            + self.prose.capacity() * size_of::<Word>()
    }
}

/// Reads a message. The result is kept with it.
pub fn said(message: &Message) -> &Said {
    message.derived.get_or_weighed(|| {
        let mut out = Said { answer: message.role == Role::Assistant, ..Said::default() };
        for part in &message.parts {
            let (mut lines, mut call) = (Lines::default(), None);
            match &part.kind {
                PartKind::Result(result) => lines = Lines::of(&result.text),
                PartKind::Call(made) => call = Some(Box::new(read(made))),
                PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => {
                    telling(text, |term| out.prose.push(term))
                }
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

fn read(call: &ToolCall) -> Call {
    let value: Value = serde_json::from_str(&call.arguments)
        .unwrap_or_else(|_| Value::String(call.arguments.clone()));
    let main = match &value {
        Value::String(text) => text.clone(),
        value => MAIN.iter().find_map(|name| value.get(*name)).map(flat).unwrap_or_default(),
    };
    let patch = main.contains("*** Begin Patch");
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
    let mut out = Call {
        id: call.call_id.clone(),
        kind,
        label: format!("{} {}", call.tool, shown.chars().take(120).collect::<String>()),
        terms: Vec::new(),
        keys: Vec::new(),
        written: String::new(),
        lines: Lines::default(),
    };
    gather(&value, "", &mut out);
    if kind != Kind::Edit {
        out.written.clear();
    }
    out.lines = Lines::of(&out.written);
    out
}

fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Takes the strings of the arguments.
fn gather(value: &Value, name: &str, out: &mut Call) {
    match value {
        Value::String(text) => {
            telling(text, |term| out.terms.push(term));
            let patch = text.contains("*** Begin Patch");
            for line in text.lines() {
                let bare = match patch {
                    true => line.strip_prefix(['+', '-', ' ']).unwrap_or(line),
                    false => line,
                };
                let body = bare.trim();
                if body.is_empty() {
                    continue;
                }
                out.keys.push(crate::text::key(body));
                if patch && line.starts_with('+') {
                    out.written.push_str(bare);
                    out.written.push('\n');
                }
            }
            if !patch && (name.starts_with("new") || name == "content" || name == "file_text") {
                out.written.push_str(text);
                out.written.push('\n');
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, name, out)),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| gather(item, name, out)),
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
