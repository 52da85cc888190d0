//! OpenCode export: one JSON document of messages and parts; a tool call and its result are one part.

use super::{Format, purpose};
use crate::record::{Action, Call, Recording, Usage};
use crate::script::Tool;
use crate::seed::Seed;
use crate::tools::Found;
use serde_json::{Value, json};

/// Millionths of a cent per token: plain input, cache read, cache write, output.
const PRICES: [u64; 4] = [500, 50, 625, 2_500];

/// The format.
pub fn format() -> Format {
    Format::new("json", include_str!("opencode.json"), |format, recording| {
        Writer::new(format, recording).file()
    })
}

struct Writer<'a> {
    format: &'a Format,
    recording: &'a Recording<'a>,
    seed: Seed,
    session: String,
    model: String,
    counter: u64,
}

impl<'a> Writer<'a> {
    fn new(format: &'a Format, recording: &'a Recording<'a>) -> Self {
        let mut seed = recording.seed();
        Self {
            format,
            recording,
            session: format!("ses_{}", seed.hex(12) + &seed.base62(14)),
            seed,
            model: recording.script.header("model"),
            counter: 0,
        }
    }

    /// Ids rise with time: the milliseconds and a counter, then noise.
    fn id(&mut self, prefix: &str, at: u64) -> String {
        self.counter = (self.counter + 1) & 0xfff;
        let rising = (at * 0x1000 + self.counter) & 0xffff_ffff_ffff;
        format!("{prefix}_{rising:012x}{}", self.seed.base62(14))
    }

    fn part(&mut self, message: &str, at: u64, mut body: Value) -> Value {
        body["id"] = json!(self.id("prt", at));
        body["sessionID"] = json!(self.session);
        body["messageID"] = json!(message);
        body
    }

    fn file(mut self) -> String {
        let recording = self.recording;
        let created = recording.turns.first().map_or(0, |turn| turn.at);
        let mut updated = created;
        let mut messages = Vec::new();
        for turn in &recording.turns {
            let user = self.id("msg", turn.at);
            let text = self.part(&user, turn.at, json!({"type": "text", "text": turn.text}));
            messages.push(json!({
                "info": {
                    "role": "user", "time": {"created": turn.at}, "agent": "build",
                    "model": {"providerID": "anthropic", "modelID": self.model}, "id": user, "sessionID": self.session,
                },
                "parts": [text],
            }));
            for call in &turn.calls {
                messages.push(self.answer(&user, call));
                updated = call.done();
            }
        }
        let project = self.seed.hex(40);
        let title = recording.script.header.get("title").cloned().unwrap_or_default();
        let document = json!({
            "info": {
                "id": self.session, "slug": "steady-otter", "projectID": project, "directory": self.format.root, "title": title,
                "version": "1.14.30", "time": {"created": created, "updated": updated},
            },
            "messages": messages,
        });
        format!("{document:#}\n")
    }

    fn answer(&mut self, parent: &str, call: &Call) -> Value {
        let id = self.id("msg", call.started);
        let finish = if call.actions.is_empty() { "stop" } else { "tool-calls" };
        let (tokens, cost) = (counts(&call.usage), cost(&call.usage));
        let mut parts = vec![self.part(&id, call.started, json!({"type": "step-start"}))];
        if !call.thought.is_empty() {
            let time = json!({"start": call.started + 400, "end": call.ended - 60});
            let body = json!({"type": "reasoning", "text": call.thought, "time": time});
            parts.push(self.part(&id, call.started, body));
        }
        if !call.text.is_empty() {
            let time = json!({"start": call.ended - 60, "end": call.ended});
            let body = json!({"type": "text", "text": call.text, "time": time});
            parts.push(self.part(&id, call.ended, body));
        }
        for action in &call.actions {
            let (name, input) = self.format.call(&action.tool);
            let body = json!({
                "type": "tool", "callID": format!("toolu_01{}", self.seed.base58(22)),
                "tool": name, "state": state(action, &input),
            });
            parts.push(self.part(&id, action.started, body));
        }
        let body = json!({"type": "step-finish", "reason": finish, "tokens": tokens, "cost": cost});
        parts.push(self.part(&id, call.done(), body));
        json!({
            "info": {
                "parentID": parent, "role": "assistant", "mode": "build", "agent": "build",
                "path": {"cwd": self.format.root, "root": self.format.root}, "cost": cost, "tokens": tokens, "modelID": self.model,
                "providerID": "anthropic", "time": {"created": call.started, "completed": call.done()},
                "finish": finish, "id": id, "sessionID": self.session,
            },
            "parts": parts,
        })
    }
}

fn state(action: &Action, input: &Value) -> Value {
    let time = json!({"start": action.started, "end": action.ended});
    match &action.outcome {
        None => json!({"status": "running", "input": input, "time": {"start": action.started}}),
        Some(outcome) => match &outcome.found {
            Found::Failed(_) => {
                json!({"status": "error", "input": input, "error": action.shown, "time": time})
            }
            found => {
                let (title, metadata) = match (found, &action.tool) {
                    (Found::Output(_, code), Tool::Run { args, .. }) => {
                        (purpose(args), json!({"exit": code, "truncated": false}))
                    }
                    (Found::Hits(hits), _) => {
                        ("", json!({"matches": hits.len(), "truncated": false}))
                    }
                    _ => ("", json!({"truncated": false})),
                };
                json!({
                    "status": "completed", "input": input, "output": action.shown, "title": title,
                    "metadata": metadata, "time": time,
                })
            }
        },
    }
}

/// Plain input, cache read, cache write, output. A few tokens behind the last cache mark are plain input.
fn split(usage: &Usage) -> [u64; 4] {
    let plain = 3.min(usage.input - usage.cache_read);
    [plain, usage.cache_read, usage.input - usage.cache_read - plain, usage.output]
}

fn counts(usage: &Usage) -> Value {
    let [input, read, write, output] = split(usage);
    json!({
        "total": usage.input + usage.output, "input": input, "output": output - usage.reasoning,
        "reasoning": usage.reasoning, "cache": {"read": read, "write": write},
    })
}

/// Dollars.
fn cost(usage: &Usage) -> Value {
    let sum: u64 = split(usage).iter().zip(PRICES).map(|(tokens, price)| tokens * price).sum();
    json!(sum as f64 / 1e8)
}
