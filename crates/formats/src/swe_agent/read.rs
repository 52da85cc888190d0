//! A trajectory as messages.

use super::history;
use crate::chat;
use crate::prelude::*;

/// Reads a trajectory. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let document = value::document(text)?;
    let from_history = document["history"].is_array();
    let source = match from_history {
        true => value::source(text, "/history")?,
        // Steps hold two messages each and are written anew.
        false => Source { text: text.into(), shape: Shape::Document, records: Records::default() },
    };
    let config = config(&document);
    let id = value::text(&config["agent"], "name").map_or_else(|| jsonl::uuid(text), str::to_owned);
    let model = value::string(&config["agent"]["model"], "name");
    let mut reader = Reader {
        out: SessionBuilder::new(id, super::FORMAT.id, source),
        model,
        open: None,
        has_task: false,
    };
    reader.out.session.cluster = cluster_of(&document, &config);
    if from_history {
        for (record, entry) in (0u32..).zip(value::list(&document, "history")) {
            reader.entry(entry, record);
        }
    } else if let Some(steps) = document["trajectory"].as_array() {
        for (index, step) in (0u32..).zip(steps) {
            reader.step(step, index);
        }
    } else {
        return Err(value::malformed("/history", "neither `history` nor `trajectory` is a list"));
    }
    // People count entries, demonstrations included, and steps.
    if let (Some(history), Some(steps)) =
        (document["history"].as_array(), document["trajectory"].as_array())
    {
        reader.out.session.recorded =
            Some(Recorded { messages: history.len(), tool_calls: steps.len() });
    }
    only(reader.out.finish_run())
}

/// The configuration of the run: an object, or JSON in a string.
fn config(document: &Value) -> Value {
    match &document["replay_config"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        other => other.clone(),
    }
}

/// The task: the environment is called after it, except for the names that every container has; runs
/// over a benchmark call the agent after it too.
fn cluster_of(document: &Value, config: &Value) -> Option<String> {
    let agent = &config["agent"];
    [
        value::text(document, "environment"),
        value::text(&config["problem_statement"], "id"),
        value::text(agent, "name"),
    ]
    .into_iter()
    .flatten()
    .find(|name| !["main", "swe_main"].contains(name))
    .and_then(|name| cluster::task(None, name))
}

struct Reader {
    out: SessionBuilder,
    model: Option<String>,
    /// Call of a text action that waits for its observation.
    open: Option<String>,
    has_task: bool,
}

impl Reader {
    fn push(&mut self, role: Role, parts: Vec<Part>, record: Option<u32>) -> &mut Message {
        let wanted = match record {
            Some(record) => format!("history-{record}"),
            None => format!("step-{}", self.out.messages.len()),
        };
        let message = self.out.push(record.unwrap_or_default(), &wanted, role, parts);
        message.record = record;
        message
    }

    fn entry(&mut self, entry: &Value, record: u32) {
        // A demonstration is an example of another task, replayed in front of this one.
        if value::flag(entry, "is_demo") {
            return;
        }
        let agent = value::string(entry, "agent");
        match value::text(entry, "role").unwrap_or_default() {
            "system" if self.out.messages.is_empty() => {
                let text = chat::content(&entry["content"]).text;
                self.out.system(text);
                return;
            }
            "system" => {
                let parts = chat::parts(&entry["content"]);
                self.push(Role::System, parts, Some(record));
            }
            "assistant" => {
                let parts = history::answer(entry, record);
                self.answer(parts, Some(record));
            }
            "tool" => {
                let id = entry["tool_call_ids"][0].as_str().unwrap_or_default();
                let id = self.out.calls.result(id);
                self.result(id, &entry["content"], Some(record));
            }
            "user" => match self.open.take() {
                Some(call) => self.result(call, &entry["content"], Some(record)),
                None => {
                    let (parts, mid_turn) = chat::prompt(&entry["content"], &mut self.has_task);
                    self.push(Role::User, parts, Some(record)).mid_turn = mid_turn;
                }
            },
            role => {
                self.out.warn(
                    "unknown-type",
                    format!("/history/{record}"),
                    format!("an entry of the unknown role `{role}`, skipped"),
                );
                return;
            }
        }
        if let Some(message) = self.out.messages.last_mut() {
            message.agent = agent;
        }
    }

    fn answer(&mut self, mut parts: Vec<Part>, record: Option<u32>) {
        for part in &mut parts {
            if let PartKind::Call(call) = &mut part.kind {
                call.call_id = self.out.calls.call(&call.call_id);
                let in_text = part.pointer.as_deref() == Some("/action");
                self.open = in_text.then(|| call.call_id.clone());
            }
        }
        let answer = Answer { model: self.model.clone(), ..Answer::default() };
        self.push(Role::Assistant, parts, record).answer = Some(answer);
    }

    fn result(&mut self, call_id: String, content: &Value, record: Option<u32>) {
        let chat::Content { text, pointer, files } = chat::content(content);
        let part = result(call_id, "", false, text, files).at(pointer);
        self.push(Role::Tool, vec![part], record);
    }

    fn step(&mut self, step: &Value, index: u32) {
        let said = |field: &str| value::filled(step, field).map(Part::text);
        let action = value::text(step, "action").filter(|action| !action.trim().is_empty());
        let parts: Vec<Part> = match action {
            Some(action) => {
                said("thought").into_iter().chain([history::text_action(action, index)]).collect()
            }
            None => said("response").or_else(|| said("thought")).into_iter().collect(),
        };
        let has_call = parts.iter().any(|part| part.as_call().is_some());
        self.answer(parts, None);
        if has_call {
            self.result(history::call_id(index), &step["observation"], None);
        }
    }
}
