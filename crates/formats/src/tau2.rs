//! `tau2`: results of tau2-bench, one JSON document `{info, tasks, simulations: [{messages}]}`, and of its
//! predecessor tau-bench, a list of `{task_id, traj}`.
//!
//! Every simulation is a session; a record is one of its messages. `docs/tau2.md` has the mapping.

use crate::chat;
use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "tau2",
    "tau2-bench and tau-bench: result files, one session for every simulation",
    SIGNS,
    read,
);

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Has("/simulations/*/messages")]),
    // The tasks may fill more than the opening.
    Sign::new(95, &[Has("/info/environment_info"), Has("/tasks")]),
    Sign::new(95, &[Has("/tasks/*/user_scenario")]),
    Sign::new(90, &[Has("/*/traj/*/role"), Has("/*/task_id")]),
];

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let (list, messages) = match root.is_array() {
        true => ("", "/traj"),
        false => ("/simulations", "/messages"),
    };
    let wanted = "a result file has its list of simulations here, or is a list of episodes";
    let episodes = value::records(&root, list, wanted)?;
    let mut ids = Ids::default();
    let mut sessions = Vec::with_capacity(episodes.len());
    let mut damaged = Vec::new();
    for (index, (range, episode)) in
        value::elements(text, list)?.into_iter().zip(episodes).enumerate()
    {
        let Some(stored) = episode.pointer(messages).and_then(Value::as_array) else {
            damaged.push((format!("{list}/{index}"), "an episode without messages".to_owned()));
            continue;
        };
        let source = value::source(&text[range], messages)?;
        let mut out = SessionBuilder::new(ids.unique(&id_of(episode, index)), FORMAT.id, source);
        let domain = value::text_at(&root, "/info/environment_info/domain_name");
        out.session.cluster =
            episode.get("task_id").and_then(|task| cluster::task(domain, &value::shown(task)));
        let mut reader = Reader::new(out, &root);
        for (record, message) in (0u32..).zip(stored) {
            reader.message(record, message);
        }
        sessions.push(reader.finish(stored));
    }
    with_damage(sessions, damaged)
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
    out: SessionBuilder,
    model: Option<String>,
}

impl Reader {
    fn new(mut out: SessionBuilder, root: &Value) -> Self {
        out.tools(root.pointer("/info/environment_info/tool_defs"));
        // The prompt around it is not recorded.
        if let Some(policy) = value::text_at(root, "/info/environment_info/policy") {
            out.system(policy);
        }
        let model = value::text_at(root, "/info/agent_info/llm").map(str::to_owned);
        out.session.model.clone_from(&model);
        Self { out, model }
    }

    fn message(&mut self, record: u32, raw: &Value) {
        match value::text(raw, "role") {
            Some("system") if self.out.messages.is_empty() => {
                let text = chat::content(&raw["content"]).text;
                self.out.system(text);
            }
            Some("system") => {
                let parts = chat::parts(&raw["content"]);
                self.push(record, raw, Role::System, parts);
            }
            // The user simulator talks to its own tools; the agent is sent its final text only.
            Some("user") if has_calls(raw) => {}
            Some("tool") if value::text(raw, "requestor") == Some("user") => {}
            Some("user") => {
                let parts = chat::parts(&raw["content"]);
                self.push(record, raw, Role::User, parts);
            }
            Some("assistant") => self.assistant(record, raw),
            Some("tool") if raw["tool_messages"].is_array() => {
                for (index, one) in value::list(raw, "tool_messages").iter().enumerate() {
                    self.result(record, one, &format!("/tool_messages/{index}"));
                }
            }
            Some("tool") => self.result(record, raw, ""),
            role => self.out.unknown_role(format!("message {record}"), role),
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.out.push_unnamed(record, role, parts);
        message.at = value::time(raw, "timestamp");
        message
    }

    fn assistant(&mut self, record: u32, raw: &Value) {
        let mut parts = chat::parts(&raw["content"]);
        for (index, call) in value::list(raw, "tool_calls").iter().enumerate() {
            // tau-bench stores calls as the Chat Completions API gives them.
            let (inner, pointer) = match call.get("function") {
                Some(inner) => (inner, format!("/tool_calls/{index}/function/arguments")),
                None => (call, format!("/tool_calls/{index}/arguments")),
            };
            let name = value::text(inner, "name").unwrap_or_default();
            let id = value::text(call, "id").unwrap_or(name);
            parts.push(self.out.call(id, name, value::shown_of(inner, "arguments")).at(pointer));
        }
        // The greeting that opens an episode is the harness's, and no model was called for it.
        let greets = self.out.messages.is_empty() && !raw["usage"].is_object() && !has_calls(raw);
        let answer = (!greets).then(|| Answer {
            usage: usage(raw),
            model: value::string(&raw["raw_data"], "model").or(self.model.clone()),
            ended: value::time(raw, "timestamp"),
            ..Answer::default()
        });
        self.push(record, raw, Role::Assistant, parts).answer = answer;
    }

    fn result(&mut self, record: u32, raw: &Value, at: &str) {
        let chat::Content { text, pointer, files } = chat::content(&raw["content"]);
        let id = value::first(raw, &["tool_call_id", "id"]).unwrap_or_default();
        let name = value::text(raw, "name").unwrap_or_default();
        let part = self.out.result(id, name, value::flag(raw, "error"), text, files);
        self.push(record, raw, Role::Tool, vec![part.at(format!("{at}{pointer}"))]);
    }

    fn finish(self, stored: &[Value]) -> Session {
        let mut session = self.out.finish_run();
        let calls = stored.iter().map(|message| value::list(message, "tool_calls").len());
        session.recorded = Some(Recorded { messages: stored.len(), tool_calls: calls.sum() });
        session
    }
}

fn has_calls(raw: &Value) -> bool {
    !value::list(raw, "tool_calls").is_empty()
}

/// `prompt_tokens` holds what was read from the cache, where the provider's own usage says how much.
fn usage(raw: &Value) -> Option<Usage> {
    let usage = raw.get("usage")?;
    let own = &raw["raw_data"]["usage"];
    let first = |pointers: &[&str]| {
        let counts = [usage, own].map(|from| value::first_count(from, pointers));
        counts.into_iter().find(|count| *count > 0).unwrap_or(0)
    };
    let cache_read = first(&["/cache_read_input_tokens", "/prompt_tokens_details/cached_tokens"]);
    let cache_write = first(&["/cache_creation_input_tokens"]);
    let reasoning = first(&["/completion_tokens_details/reasoning_tokens"]);
    let prompt = value::count(usage, "/prompt_tokens");
    // Some submissions copy Anthropic's count, which leaves the cache out.
    let cached = cache_read + cache_write;
    let exclusive = cached > 0 && own.get("input_tokens").is_some_and(|own| *own == prompt);
    let counted = Usage {
        uncached: if exclusive { prompt } else { prompt.saturating_sub(cached) },
        cache_read,
        cache_write,
        output: value::count(usage, "/completion_tokens").saturating_sub(reasoning),
        reasoning,
        ..Usage::default()
    };
    Some(counted).filter(|usage| !usage.is_zero())
}
