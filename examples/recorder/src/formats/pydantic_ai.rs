//! pydantic-ai: a JSON list of requests and responses; results stand in the request that follows.

use super::{Format, absolute, command, numbered};
use crate::record::{Call, Recording};
use crate::script::Tool;
use crate::seed::{Seed, time};
use crate::tokens;
use crate::tools::{Failure, Found, Outcome, ROOT};
use serde_json::{Value, json};

/// See the module.
#[derive(Debug)]
pub struct PydanticAi;

/// OpenAI caches prefixes in blocks of this many tokens.
const CACHE_BLOCK: u64 = 128;

const SYSTEM: &str = "You are a coding agent in a terminal. You can list folders, search, read, edit and write files \
and run commands in the working folder. Read before you edit. Make the smallest change that does what was asked, run \
the tests after each change, and say plainly what you did and what you did not do. Amounts are money of customers: if a \
rule is unclear, quote it and ask.";

impl Format for PydanticAi {
    fn extension(&self) -> &'static str {
        "json"
    }

    fn call_tokens(&self, tool: &Tool) -> u64 {
        let (name, input) = call(tool);
        tokens::count(name) + tokens::count(&input.to_string())
    }

    fn shown(&self, tool: &Tool, outcome: &Outcome) -> String {
        match &outcome.found {
            Found::Lines(lines, total) => {
                let body = numbered(lines, |number, text| format!("{number:05}| {text}"));
                format!("<file>\n{body}\n\n(End of excerpt - the file has {total} lines)\n</file>")
            }
            Found::Hits(hits) => {
                let pattern = if let Tool::Search { pattern, .. } = tool { pattern } else { "" };
                let mut text = format!(
                    "Found {} matches for pattern: {pattern}\n{}\n",
                    hits.len(),
                    "=".repeat(60)
                );
                for (path, number, line) in hits {
                    text.push_str(&format!("{path}:{number}\n  {}\n", line.trim()));
                }
                text
            }
            Found::Paths(paths) => format!("{ROOT}/\n{}\n{} files", paths.join("\n"), paths.len()),
            Found::Output(text, code) => {
                let line = if let Tool::Run { args, filters } = tool {
                    command(args, filters)
                } else {
                    String::new()
                };
                format!(
                    "Command: {line}\nExit Code: {code}\nWorking Directory: {ROOT}\n\nOUTPUT:\n{text}"
                )
            }
            Found::Changed => match tool {
                Tool::Write { path, .. } => {
                    format!("Successfully wrote to new file: {}", absolute(path))
                }
                Tool::Edit { path, .. } => {
                    format!("File '{}' updated successfully.", absolute(path))
                }
                _ => String::new(),
            },
            Found::Failed(Failure::NoFile(path)) => format!("File not found: {}", absolute(path)),
            Found::Failed(Failure::NoMatch(text)) => {
                format!(
                    "Target block not found. Read the file again and copy the block as it stands.\n\n{text}"
                )
            }
            Found::Failed(Failure::ManyMatches(count)) => {
                format!("Target block found {count} times; give more lines.")
            }
        }
    }

    fn write(&self, recording: &Recording<'_>) -> String {
        Writer::new(recording).file()
    }
}

fn call(tool: &Tool) -> (&'static str, Value) {
    match tool {
        Tool::Read { path, lines: None } => ("read_file", json!({"filepath": absolute(path)})),
        Tool::Read { path, lines: Some((from, to)) } => (
            "read_file",
            json!({"filepath": absolute(path), "offset": from - 1, "limit": to - from + 1}),
        ),
        Tool::Search { pattern, path } => {
            ("grep", json!({"pattern": pattern, "directory": absolute(path)}))
        }
        Tool::List { path } => ("list_dir", json!({"directory": absolute(path)})),
        Tool::Run { args, filters } => {
            ("bash", json!({"command": command(args, filters), "timeout": 60}))
        }
        Tool::Edit { path, hunk } => {
            let (old, new) = Tool::replacement(hunk);
            ("update_file", json!({"filepath": absolute(path), "target": old, "patch": new}))
        }
        Tool::Write { path, text } => {
            ("write_file", json!({"filepath": absolute(path), "content": text}))
        }
    }
}

struct Writer<'a> {
    recording: &'a Recording<'a>,
    seed: Seed,
    model: String,
    messages: Vec<Value>,
}

impl<'a> Writer<'a> {
    fn new(recording: &'a Recording<'a>) -> Self {
        let header = |key: &str| recording.script.header.get(key).cloned().unwrap_or_default();
        Self {
            recording,
            seed: Seed::new(header("seed").parse::<u64>().unwrap_or_default() + 1),
            model: header("model"),
            messages: Vec::new(),
        }
    }

    fn file(mut self) -> String {
        for (index, turn) in self.recording.turns.iter().enumerate() {
            let run = self.seed.uuid();
            let at = time::show(turn.at);
            let mut parts = Vec::new();
            if index == 0 {
                parts.push(json!({"content": SYSTEM, "timestamp": at, "dynamic_ref": null, "part_kind": "system-prompt"}));
            }
            parts.push(json!({"content": turn.text, "timestamp": at, "part_kind": "user-prompt"}));
            self.request(parts, &run);
            for call in &turn.calls {
                self.answer(call, &run);
            }
        }
        format!("{:#}\n", Value::Array(self.messages))
    }

    fn request(&mut self, parts: Vec<Value>, run: &str) {
        self.messages
            .push(json!({"parts": parts, "instructions": null, "kind": "request", "run_id": run}));
    }

    fn answer(&mut self, call: &Call, run: &str) {
        let mut parts = Vec::new();
        let mut returns = Vec::new();
        if !call.text.is_empty() {
            parts.push(json!({"content": call.text, "id": null, "part_kind": "text"}));
        }
        for action in &call.actions {
            let (name, input) = self::call(&action.tool);
            let id = format!("call_{}", self.seed.base62(24));
            parts.push(json!({
                "tool_name": name, "args": input.to_string(), "tool_call_id": id, "id": null, "part_kind": "tool-call",
            }));
            let at = time::show(action.ended);
            match action.outcome.as_ref().map(|outcome| &outcome.found) {
                None => {}
                Some(Found::Failed(_)) => returns.push(json!({
                    "content": action.shown, "tool_name": name, "tool_call_id": id, "timestamp": at, "part_kind": "retry-prompt",
                })),
                Some(_) => returns.push(json!({
                    "tool_name": name, "content": action.shown, "tool_call_id": id, "metadata": null, "timestamp": at,
                    "part_kind": "tool-return",
                })),
            }
        }
        let finish = if call.actions.is_empty() { "stop" } else { "tool_call" };
        let raw = if call.actions.is_empty() { "stop" } else { "tool_calls" };
        let response = format!("chatcmpl-{}", self.seed.base62(29));
        self.messages.push(json!({
            "parts": parts,
            "usage": {
                "input_tokens": call.usage.input, "cache_write_tokens": 0,
                "cache_read_tokens": call.usage.cache_read / CACHE_BLOCK * CACHE_BLOCK,
                "output_tokens": call.usage.output, "details": {"reasoning_tokens": call.usage.reasoning},
            },
            "model_name": self.model, "timestamp": time::show(call.ended), "kind": "response", "provider_name": "openai",
            "provider_details": {"finish_reason": raw}, "provider_response_id": response, "finish_reason": finish,
            "run_id": run,
        }));
        if !returns.is_empty() {
            self.request(returns, run);
        }
    }
}
