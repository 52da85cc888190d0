//! `tau2`: results of tau2-bench, one JSON document `{info, tasks, simulations: [{messages}]}`, and of its
//! predecessor tau-bench, a list of `{task_id, traj}`.
//!
//! Every simulation is a session; a record is one of its messages. `docs/tau2.md` has the mapping.

use crate::ids::{Calls, Ids};
use crate::raw::peek;
use crate::session::{Recorded, Shape, Source};
use crate::table::Format;
use crate::time::parse_rfc3339;
use crate::{ReadError, Session, answers, chat, cluster, pairing, raw, value};
use foldback_core::SegmentKind;
use foldback_core::log::{Answer, Message, Part, PartKind, ResultStatus, Role, ToolResult, Usage};
use serde_json::Value;
use std::sync::Arc;

pub(crate) const FORMAT: Format = Format {
    id: "tau2",
    title: "tau2-bench and tau-bench: result files, one session for every simulation",
    detect,
    read,
    write: None,
    log: false,
    many: false,
};

fn detect(text: &str) -> u8 {
    let opening = peek(text);
    // The tasks may fill more than the opening.
    let tau2 = opening.has("/simulations/*/messages")
        || opening.has("/info/environment_info") && opening.has("/tasks")
        || opening.has("/tasks/*/user_scenario");
    if tau2 {
        95
    } else if opening.has("/*/traj/*/role") && opening.has("/*/task_id") {
        90
    } else {
        0
    }
}

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let (list, messages) = match root.is_array() {
        true => ("", "/traj"),
        false => ("/simulations", "/messages"),
    };
    let Some(episodes) = root.pointer(list).and_then(Value::as_array) else {
        return Err(value::malformed(
            "/simulations",
            "a result file has its list of simulations here, or is a list of episodes",
        ));
    };
    let fail = |error: raw::RawError| value::malformed(list, error.to_string());
    let ranges = raw::elements(text, list).map_err(fail)?;
    let mut ids = Ids::default();
    let mut sessions = Vec::with_capacity(episodes.len());
    let mut damaged = Vec::new();
    for (index, (range, episode)) in ranges.into_iter().zip(episodes).enumerate() {
        let Some(stored) = episode.pointer(messages).and_then(Value::as_array) else {
            damaged.push(format!("{list}/{index}"));
            continue;
        };
        let text = &text[range];
        let source = Source {
            text: text.into(),
            shape: Shape::Document,
            records: raw::elements(text, messages).map_err(fail)?,
        };
        let id = ids.unique(&id_of(episode, index));
        let mut session = Session::new(id, FORMAT.id, source);
        let domain = root.pointer("/info/environment_info/domain_name");
        session.cluster = episode
            .get("task_id")
            .and_then(|task| cluster::task(domain.and_then(Value::as_str), &value::shown(task)));
        let mut reader = Reader::new(session, &root);
        for (record, message) in (0u32..).zip(stored) {
            reader.message(record, message);
        }
        sessions.push(reader.finish(stored));
    }
    for place in damaged {
        if let Some(first) = sessions.first_mut() {
            first.warn("damaged-line", place, "an episode without messages; left out");
        }
    }
    match sessions.is_empty() {
        true => Err(ReadError::NoMessages),
        false => Ok(sessions),
    }
}

/// The recorder's id of an episode, or task and trial.
fn id_of(episode: &Value, index: usize) -> String {
    if let Some(id) = value::string(episode, "id") {
        return id;
    }
    let part = |key: &str| episode.get(key).map(value::shown);
    match (part("task_id"), part("trial")) {
        (Some(task), Some(trial)) => format!("task-{task}-trial-{trial}"),
        (Some(task), None) => format!("task-{task}"),
        _ => format!("episode-{index}"),
    }
}

struct Reader {
    session: Session,
    messages: Vec<Message>,
    ids: Ids,
    calls: Calls,
    model: Option<String>,
}

impl Reader {
    fn new(mut session: Session, root: &Value) -> Self {
        let at = |pointer: &str| root.pointer(pointer).and_then(Value::as_str);
        if let Some(tools) = root
            .pointer("/info/environment_info/tool_defs")
            .filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()))
        {
            session.frame.push_text(SegmentKind::Tools, tools.to_string());
        }
        // The prompt around it is not recorded.
        if let Some(policy) = at("/info/environment_info/policy") {
            session.frame.push_text(SegmentKind::System, policy);
        }
        Self {
            session,
            messages: Vec::new(),
            ids: Ids::default(),
            calls: Calls::default(),
            model: at("/info/agent_info/llm").map(str::to_owned),
        }
    }

    fn message(&mut self, record: u32, raw: &Value) {
        match value::text(raw, "role") {
            Some("system") if self.messages.is_empty() => {
                let text = chat::content(&raw["content"]).text;
                self.session.frame.push_text(SegmentKind::System, text);
            }
            Some("system") => {
                let parts = chat::parts(&raw["content"]);
                self.push(record, raw, Role::System, parts);
            }
            // The user simulator talks to its own tools; the agent is sent what it says in the end.
            Some("user") if has_calls(raw) => {}
            Some("tool") if value::text(raw, "requestor") == Some("user") => {}
            Some("user") => {
                let parts = chat::parts(&raw["content"]);
                self.push(record, raw, Role::User, parts);
            }
            Some("assistant") => self.assistant(record, raw),
            Some("tool") => match raw.get("tool_messages").and_then(Value::as_array) {
                Some(several) => {
                    for (index, one) in several.iter().enumerate() {
                        self.result(record, one, &format!("/tool_messages/{index}"));
                    }
                }
                None => self.result(record, raw, ""),
            },
            role => self.session.warn(
                "unknown-role",
                format!("message {record}"),
                format!("there is no role `{}` in this format; left out", role.unwrap_or("")),
            ),
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let index = self.messages.len();
        self.messages.push(Message {
            at: value::text(raw, "timestamp").and_then(parse_rfc3339),
            record: Some(record),
            ..Message::new(self.ids.unique(&format!("m{record}")), role, parts)
        });
        &mut self.messages[index]
    }

    fn assistant(&mut self, record: u32, raw: &Value) {
        let mut parts = chat::parts(&raw["content"]);
        let calls = raw.get("tool_calls").and_then(Value::as_array);
        for (index, call) in calls.into_iter().flatten().enumerate() {
            // tau-bench stores calls as the Chat Completions API gives them.
            let (inner, pointer) = match call.get("function") {
                Some(inner) => (inner, format!("/tool_calls/{index}/function/arguments")),
                None => (call, format!("/tool_calls/{index}/arguments")),
            };
            let name = value::text(inner, "name").unwrap_or_default();
            let id = self.calls.call(value::text(call, "id").unwrap_or(name));
            let arguments = inner.get("arguments").map(value::shown).unwrap_or_default();
            parts.push(Part::call(id, name, arguments).at(pointer));
        }
        // The greeting that opens an episode is the harness's, and no model was called for it.
        let greets = self.messages.is_empty() && !raw["usage"].is_object() && !has_calls(raw);
        let answer = (!greets).then(|| Answer {
            usage: usage(raw),
            model: value::string(&raw["raw_data"], "model").or(self.model.clone()),
            ended: value::text(raw, "timestamp").and_then(parse_rfc3339),
            ..Answer::default()
        });
        self.push(record, raw, Role::Assistant, parts).answer = answer;
    }

    fn result(&mut self, record: u32, raw: &Value, at: &str) {
        let content = chat::content(&raw["content"]);
        let id = ["tool_call_id", "id"].iter().find_map(|key| value::text(raw, key));
        let result = ToolResult {
            call_id: self.calls.result(id.unwrap_or_default()),
            tool: value::string(raw, "name").unwrap_or_default(),
            status: match value::flag(raw, "error") {
                true => ResultStatus::Error,
                false => ResultStatus::Completed,
            },
            text: content.text,
            media: content.files,
            ..ToolResult::default()
        };
        let part = Part::new(PartKind::Result(result)).at(format!("{at}{}", content.pointer));
        self.push(record, raw, Role::Tool, vec![part]);
    }

    fn finish(mut self, stored: &[Value]) -> Session {
        answers::infer_finish(&mut self.messages);
        self.session.model = answers::main_model(&self.messages).or(self.model);
        self.session.messages = self.messages.into_iter().map(Arc::new).collect();
        self.session.recorded = Some(Recorded {
            messages: stored.len(),
            tool_calls: stored
                .iter()
                .filter_map(|message| message.get("tool_calls")?.as_array())
                .map(Vec::len)
                .sum(),
        });
        pairing::join(&mut self.session);
        self.session
    }
}

fn has_calls(raw: &Value) -> bool {
    raw.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty())
}

/// `prompt_tokens` holds what was read from the cache, where the provider's own usage says how much.
fn usage(raw: &Value) -> Option<Usage> {
    let usage = raw.get("usage").filter(|usage| usage.is_object())?;
    let own = &raw["raw_data"]["usage"];
    let first = |pointers: &[&str]| {
        [usage, own]
            .iter()
            .flat_map(|from| pointers.iter().map(|pointer| value::count(from, pointer)))
            .find(|count| *count > 0)
            .unwrap_or(0)
    };
    let cache_read = first(&["/cache_read_input_tokens", "/prompt_tokens_details/cached_tokens"]);
    let cache_write = first(&["/cache_creation_input_tokens"]);
    let reasoning = first(&["/completion_tokens_details/reasoning_tokens"]);
    let prompt = value::count(usage, "/prompt_tokens");
    // Some submissions copy Anthropic's count, which leaves the cache out.
    let cached = cache_read + cache_write;
    let exclusive = cached > 0 && own.get("input_tokens").is_some_and(|own| *own == prompt);
    Some(Usage {
        uncached: if exclusive { prompt } else { prompt.saturating_sub(cached) },
        cache_read,
        cache_write,
        output: value::count(usage, "/completion_tokens").saturating_sub(reasoning),
        reasoning,
        total: None,
    })
}
