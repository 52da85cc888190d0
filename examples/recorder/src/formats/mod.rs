//! The formats in which a recording can be written. Each names the tools its own way, wraps results its
//! own way, and stores them its own way.

mod claude_code;
mod codex;
mod opencode;
mod pydantic_ai;
mod wording;

use crate::record::Recording;
use crate::script::Tool;
use crate::tokens;
use crate::tools::Outcome;
use serde_json::Value;
use wording::Wording;

/// A way to store a session.
#[derive(Debug)]
pub struct Format {
    /// Ending of the file's name.
    pub extension: &'static str,
    /// Where the code base seems to be.
    root: String,
    wording: Wording,
    call_tokens: fn(&str, &Value) -> u64,
    /// Wraps a result that is worded.
    wrap: fn(&Outcome, String) -> String,
    file: fn(&Self, &Recording<'_>) -> String,
}

impl Format {
    /// A format whose calls are a name and an input, and whose results stand as they are worded.
    fn new(
        extension: &'static str,
        wording: &str,
        file: fn(&Self, &Recording<'_>) -> String,
    ) -> Self {
        Self {
            extension,
            root: String::new(),
            wording: Wording::of(wording),
            call_tokens: |name, input| tokens::count(name) + tokens::count(&input.to_string()),
            wrap: |_, text| text,
            file,
        }
    }

    /// Name and input of a call.
    fn call(&self, tool: &Tool) -> (String, Value) {
        self.wording.call(tool, &self.root)
    }

    /// Tokens of a call's name and arguments.
    pub fn call_tokens(&self, tool: &Tool) -> u64 {
        let (name, input) = self.call(tool);
        (self.call_tokens)(&name, &input)
    }

    /// A result as the model is shown it.
    pub fn shown(&self, tool: &Tool, outcome: &Outcome) -> String {
        (self.wrap)(outcome, self.wording.shown(tool, outcome, &self.root))
    }

    /// The file.
    pub fn write(&self, recording: &Recording<'_>) -> String {
        (self.file)(self, recording)
    }
}

/// The format that a script asks for, for a code base that seems to be at `root`.
pub fn by_name(name: &str, root: String) -> Option<Format> {
    let format = match name {
        "claude-code" => claude_code::format(),
        "codex" => codex::format(),
        "opencode" => opencode::format(),
        "pydantic-ai" => pydantic_ai::format(),
        _ => return None,
    };
    Some(Format { root, ..format })
}

/// A path of the project as an absolute one.
fn absolute(root: &str, path: &str) -> String {
    if path.is_empty() { root.to_owned() } else { format!("{root}/{path}") }
}

/// A command line with the program and the filters behind it.
fn command(args: &str, filters: &[String]) -> String {
    let mut line = match args.strip_prefix("-c ") {
        Some(code) => format!("python3 -c '{code}'"),
        None => format!("python3 {args}"),
    };
    for filter in filters {
        line.push_str(" 2>&1 | ");
        match filter.strip_prefix("grep ") {
            Some(text) if text.contains(' ') => line.push_str(&format!("grep '{text}'")),
            _ => line.push_str(filter),
        }
    }
    // Only the first pipe needs to take in the errors.
    let mut pieces = line.splitn(2, " 2>&1 | ");
    match (pieces.next(), pieces.next()) {
        (Some(head), Some(rest)) => format!("{head} 2>&1 | {}", rest.replace(" 2>&1 | ", " | ")),
        _ => line,
    }
}

/// What a command is for, in a few words, as agents describe their calls.
fn purpose(args: &str) -> &'static str {
    if args.starts_with("-m unittest") {
        "Run the tests"
    } else if args.contains("simulate") {
        "Run the simulation"
    } else {
        "Run a command of the project"
    }
}
