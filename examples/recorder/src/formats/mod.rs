//! The formats in which a recording can be written. Each names the tools its own way, wraps results its
//! own way, and stores them its own way.

mod claude_code;
mod codex;
mod opencode;
mod pydantic_ai;

use crate::record::Recording;
use crate::script::Tool;
use crate::tools::{Outcome, ROOT};

/// A way to store a session.
pub trait Format {
    /// Ending of the file's name.
    fn extension(&self) -> &'static str;
    /// Tokens of a call's name and arguments.
    fn call_tokens(&self, tool: &Tool) -> u64;
    /// A result as the model is shown it.
    fn shown(&self, tool: &Tool, outcome: &Outcome) -> String;
    /// The file.
    fn write(&self, recording: &Recording<'_>) -> String;
}

/// The format that a script asks for.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    match name {
        "claude-code" => Some(&claude_code::ClaudeCode),
        "codex" => Some(&codex::Codex),
        "opencode" => Some(&opencode::OpenCode),
        "pydantic-ai" => Some(&pydantic_ai::PydanticAi),
        _ => None,
    }
}

/// A path of the project as an absolute one.
fn absolute(path: &str) -> String {
    if path.is_empty() { ROOT.to_owned() } else { format!("{ROOT}/{path}") }
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

/// Numbered lines, joined.
fn numbered(lines: &[(usize, String)], line: impl Fn(usize, &str) -> String) -> String {
    let shown: Vec<String> = lines.iter().map(|(number, text)| line(*number, text)).collect();
    shown.join("\n")
}

/// Hits as `path:line:text`.
fn grep_lines(hits: &[(String, usize, String)]) -> String {
    let shown: Vec<String> =
        hits.iter().map(|(path, number, text)| format!("{path}:{number}:{text}")).collect();
    shown.join("\n")
}
