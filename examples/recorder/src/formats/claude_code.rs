//! Claude Code: JSON lines, one per content block, hanging on each other by `parentUuid`.

use super::{Format, absolute};
use crate::record::{Call, Recording, Usage};
use crate::script::Tool;
use crate::seed::{Seed, time};
use crate::tools::{Found, Outcome};
use serde_json::{Value, json};

const VERSION: &str = "2.1.62";

/// The format.
pub fn format() -> Format {
    Format::new("jsonl", include_str!("claude-code.json"), |format, recording| {
        Writer::new(format, recording).file()
    })
}

struct Writer<'a> {
    format: &'a Format,
    recording: &'a Recording<'a>,
    seed: Seed,
    session: String,
    model: String,
    parent: Option<String>,
    lines: Vec<Value>,
}

impl<'a> Writer<'a> {
    fn new(format: &'a Format, recording: &'a Recording<'a>) -> Self {
        let mut seed = recording.seed();
        Self {
            format,
            recording,
            session: seed.uuid(),
            seed,
            model: recording.script.header("model"),
            parent: None,
            lines: Vec::new(),
        }
    }

    fn file(mut self) -> String {
        for turn in &self.recording.turns {
            let uuid = self.push(
                "user",
                turn.at,
                json!({"role": "user", "content": turn.text}),
                json!({}),
            );
            let at = time::show(turn.at);
            self.lines.push(json!({
                "type": "file-history-snapshot", "messageId": uuid,
                "snapshot": {"messageId": uuid, "trackedFileBackups": {}, "timestamp": at}, "isSnapshotUpdate": false,
            }));
            for call in &turn.calls {
                self.answer(call);
            }
        }
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// One line per block, then one line per result. Results of parallel calls hang on their own calls.
    fn answer(&mut self, call: &Call) {
        let mut blocks = Vec::new();
        if !call.thought.is_empty() {
            let signature = self.seed.base62(240);
            blocks.push((
                json!({"type": "thinking", "thinking": call.thought, "signature": signature}),
                None,
            ));
        }
        if !call.text.is_empty() {
            blocks.push((json!({"type": "text", "text": call.text}), None));
        }
        for action in &call.actions {
            let (name, input) = self.format.call(&action.tool);
            let id = format!("toolu_01{}", self.seed.base58(22));
            blocks.push((
                json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                Some((id, action)),
            ));
        }
        let message = format!("msg_01{}", self.seed.base58(22));
        let request = format!("req_011C{}", self.seed.base58(20));
        let stop = if call.actions.is_empty() { "end_turn" } else { "tool_use" };
        let count = blocks.len() as u64;
        let mut results = Vec::new();
        for (place, (block, action)) in (1u64..).zip(blocks) {
            let at = call.ended - (count - place) * 140;
            let body = json!({
                "model": self.model, "id": message, "type": "message", "role": "assistant", "content": [block],
                "stop_reason": stop, "stop_sequence": null, "usage": usage(&call.usage),
            });
            let uuid = self.push("assistant", at, body, json!({"requestId": request}));
            results.extend(action.map(|(id, action)| (uuid, id, action)));
        }
        for (uuid, id, action) in results {
            let Some(outcome) = &action.outcome else {
                continue;
            };
            self.parent = Some(uuid.clone());
            let mut block =
                json!({"tool_use_id": id, "type": "tool_result", "content": action.shown});
            if !outcome.ok {
                block["is_error"] = json!(true);
            }
            let extra = json!({"toolUseResult": self.structured(&action.tool, outcome, &action.shown), "sourceToolAssistantUUID": uuid});
            self.push("user", action.ended, json!({"role": "user", "content": [block]}), extra);
        }
    }

    /// The second, structured copy of a result that the client keeps for its screen.
    fn structured(&self, tool: &Tool, outcome: &Outcome, shown: &str) -> Value {
        match (&outcome.found, tool) {
            (Found::Lines(lines, total), Tool::Read { path, .. }) => {
                json!({"type": "text", "file": {
                    "filePath": absolute(&self.format.root, path),
                    "content": lines.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n"),
                    "numLines": lines.len(),
                    "startLine": lines.first().map_or(1, |(number, _)| *number),
                    "totalLines": total,
                }})
            }
            (Found::Hits(hits), _) => {
                json!({"mode": "content", "numFiles": 0, "filenames": [], "content": shown, "numLines": hits.len()})
            }
            (Found::Paths(paths), _) => {
                json!({"filenames": paths, "durationMs": 6, "numFiles": paths.len(), "truncated": false})
            }
            (Found::Output(text, 0), _) => {
                json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false})
            }
            (Found::Changed, Tool::Edit { path, hunk }) => {
                let (old, new) = Tool::replacement(hunk);
                json!({"filePath": absolute(&self.format.root, path), "oldString": old, "newString": new, "userModified": false, "replaceAll": false})
            }
            (Found::Changed, Tool::Write { path, text }) => {
                json!({"type": "create", "filePath": absolute(&self.format.root, path), "content": text})
            }
            _ => json!(format!("Error: {shown}")),
        }
    }

    /// Adds a line below the last one and gives its uuid.
    fn push(&mut self, kind: &str, at: u64, message: Value, extra: Value) -> String {
        let uuid = self.seed.uuid();
        let mut line = json!({
            "parentUuid": self.parent, "isSidechain": false, "userType": "external", "cwd": self.format.root,
            "sessionId": self.session, "version": VERSION, "gitBranch": "main", "type": kind, "message": message,
        });
        if let (Some(line), Value::Object(extra)) = (line.as_object_mut(), extra) {
            line.extend(extra);
        }
        line["uuid"] = json!(uuid);
        line["timestamp"] = json!(time::show(at));
        self.lines.push(line);
        self.parent = Some(uuid.clone());
        uuid
    }
}

fn usage(usage: &Usage) -> Value {
    // A few tokens behind the last cache mark are always billed as plain input.
    let plain = 3.min(usage.input - usage.cache_read);
    let written = usage.input - usage.cache_read - plain;
    json!({
        "input_tokens": plain, "cache_creation_input_tokens": written, "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output, "service_tier": "standard",
    })
}
