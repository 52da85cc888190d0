//! Codex rollout: JSON lines of `response_item` (what the model sees) and `event_msg` (what the screen shows).

use super::Format;
use crate::record::{Call, Recording};
use crate::seed::{Seed, time};
use crate::tokens;
use crate::tools::{Failure, Found, Outcome};
use serde_json::{Value, json};

/// OpenAI caches prefixes in blocks of this many tokens.
const CACHE_BLOCK: u64 = 128;

const INSTRUCTIONS: &str = "You are a coding agent that works in the user's checkout through a shell. Find out before \
you change anything: search with rg, read the files that matter, run the tests. Keep changes small and in the style of \
the file. Say what you are about to do in one or two sentences before a group of calls. Use apply_patch for edits and \
never rewrite a whole file for a small change. When you are done, say what changed, how it was verified and what is \
left open. Do not touch files that the user has put out of scope.";

/// The format.
pub fn format() -> Format {
    Format {
        // What is billed is the command line or the patch, and a few tokens around it.
        call_tokens: |_, input| match &input["cmd"] {
            Value::String(line) => tokens::count(line) + 12,
            _ => tokens::count(input.as_str().unwrap_or_default()) + 4,
        },
        wrap,
        ..Format::new("jsonl", include_str!("codex.json"), |format, recording| {
            Writer::new(format, recording).file()
        })
    }
}

/// What the shell printed, with its code and what it cost; a patch answers for itself.
fn wrap(outcome: &Outcome, text: String) -> String {
    let code = match &outcome.found {
        Found::Changed | Found::Failed(Failure::NoMatch(_) | Failure::ManyMatches(_)) => {
            return text;
        }
        Found::Output(_, code) => *code,
        Found::Hits(hits) => i32::from(hits.is_empty()),
        Found::Failed(Failure::NoFile) => 1,
        Found::Lines(..) | Found::Paths(_) => 0,
    };
    let mark = fingerprint(&text);
    format!(
        "Chunk ID: {:06x}\nWall time: 0.{:04} seconds\nProcess exited with code {code}\nOriginal token count: {}\nOutput:\n{text}\n",
        mark & 0xff_ffff,
        200 + mark % 4_000,
        tokens::count(&text),
    )
}

/// A number that follows from a text (FNV-1a), for ids that must not change between runs.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

struct Writer<'a> {
    format: &'a Format,
    recording: &'a Recording<'a>,
    seed: Seed,
    window: u64,
    total: [u64; 4],
    lines: Vec<Value>,
}

impl<'a> Writer<'a> {
    fn new(format: &'a Format, recording: &'a Recording<'a>) -> Self {
        let window = recording.script.header("window").parse().unwrap_or_default();
        let seed = recording.seed();
        Self { format, recording, seed, window, total: [0; 4], lines: Vec::new() }
    }

    fn push(&mut self, at: u64, kind: &str, payload: Value) {
        self.lines.push(json!({"timestamp": time::show(at), "type": kind, "payload": payload}));
    }

    fn file(mut self) -> String {
        let model = self.recording.script.header("model");
        let first = self.recording.turns.first().map_or(0, |turn| turn.at);
        let session = self.seed.uuid7(first);
        let commit = self.seed.hex(40);
        self.push(
            first,
            "session_meta",
            json!({
                "id": session, "timestamp": time::show(first), "cwd": self.format.root, "originator": "codex-tui",
                "cli_version": "0.140.0", "source": "cli", "thread_source": "user", "model_provider": "local",
                "base_instructions": {"text": INSTRUCTIONS}, "git": {"commit_hash": commit, "branch": "main"},
            }),
        );
        for (index, turn) in self.recording.turns.iter().enumerate() {
            let id = self.seed.uuid7(turn.at);
            self.push(
                turn.at,
                "event_msg",
                json!({
                    "type": "task_started", "turn_id": id, "started_at": turn.at / 1000,
                    "model_context_window": self.window, "collaboration_mode_kind": "default",
                }),
            );
            if index == 0 {
                let text = format!(
                    "<environment_context>\n  <cwd>{}</cwd>\n  <shell>bash</shell>\n</environment_context>",
                    self.format.root,
                );
                self.push(turn.at + 1, "response_item", message("user", "input_text", &text));
            }
            self.push(
                turn.at + 2,
                "turn_context",
                json!({
                    "turn_id": id, "cwd": self.format.root, "approval_policy": "on-request",
                    "sandbox_policy": {"type": "workspace-write"}, "model": model, "effort": "medium", "summary": "auto",
                }),
            );
            self.push(turn.at + 3, "response_item", message("user", "input_text", &turn.text));
            let shown = json!({"type": "user_message", "message": turn.text, "images": [], "local_images": [], "text_elements": []});
            self.push(turn.at + 4, "event_msg", shown);
            for call in &turn.calls {
                self.answer(call);
            }
            if let Some(last) = turn.calls.last() {
                let done = json!({
                    "type": "task_complete", "turn_id": id, "last_agent_message": last.text,
                    "completed_at": last.ended / 1000, "duration_ms": last.ended - turn.at,
                });
                self.push(last.done() + 2, "event_msg", done);
            }
        }
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// A compaction: the history that replaces everything before, namely what the user wrote and the
    /// summary.
    fn compacted(&mut self, call: &Call) {
        let turns = self.recording.turns.iter();
        let said = turns.take_while(|turn| turn.at < call.started).map(|turn| &turn.text);
        let history: Vec<Value> =
            said.chain([&call.compacted]).map(|text| message("user", "input_text", text)).collect();
        let payload = json!({"message": call.compacted, "replacement_history": history});
        self.push(call.started - 40, "compacted", payload);
        self.push(call.started - 38, "event_msg", json!({"type": "context_compacted"}));
    }

    fn answer(&mut self, call: &Call) {
        if !call.compacted.is_empty() {
            self.compacted(call);
        }
        let at = call.ended;
        if !call.thought.is_empty() {
            let summary = json!([{"type": "summary_text", "text": call.thought}]);
            let item = json!({"type": "reasoning", "summary": summary, "content": null, "encrypted_content": null});
            self.push(at - 90, "response_item", item);
        }
        if !call.text.is_empty() {
            let phase = if call.actions.is_empty() { "final_answer" } else { "commentary" };
            self.push(
                at - 40,
                "event_msg",
                json!({"type": "agent_message", "message": call.text, "phase": phase}),
            );
            let mut item = message("assistant", "output_text", &call.text);
            item["phase"] = json!(phase);
            self.push(at - 39, "response_item", item);
        }
        let mut outputs = Vec::new();
        for action in &call.actions {
            let id = format!("call_{}", self.seed.base62(24));
            let (name, input) = self.format.call(&action.tool);
            let (item, output) = if input.is_string() {
                (
                    json!({"type": "custom_tool_call", "status": "completed", "call_id": id, "name": name, "input": input}),
                    "custom_tool_call_output",
                )
            } else {
                let arguments = input.to_string();
                (
                    json!({"type": "function_call", "name": name, "arguments": arguments, "call_id": id}),
                    "function_call_output",
                )
            };
            self.push(at, "response_item", item);
            if action.outcome.is_some() {
                outputs.push((
                    action.ended,
                    json!({"type": output, "call_id": id, "output": action.shown}),
                ));
            }
        }
        for (ended, item) in outputs {
            self.push(ended, "response_item", item);
        }
        let cached = call.usage.cache_read / CACHE_BLOCK * CACHE_BLOCK;
        let last = [call.usage.input, cached, call.usage.output, call.usage.reasoning];
        for (total, last) in self.total.iter_mut().zip(last) {
            *total += last;
        }
        let info = json!({
            "total_token_usage": counts(self.total), "last_token_usage": counts(last), "model_context_window": self.window,
        });
        self.push(
            call.done() + 1,
            "event_msg",
            json!({"type": "token_count", "info": info, "rate_limits": null}),
        );
    }
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

fn counts([input, cached, output, reasoning]: [u64; 4]) -> Value {
    json!({
        "input_tokens": input, "cached_input_tokens": cached, "output_tokens": output,
        "reasoning_output_tokens": reasoning, "total_tokens": input + output,
    })
}
