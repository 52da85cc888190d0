//! `swe-agent`: the `.traj` files of SWE-agent, 0.x and 1.x.
//!
//! A trajectory holds the run several times over: `history` is what was said, `trajectory` the steps
//! with action and observation, and in 1.x each step repeats the whole prompt, masked by whatever
//! history processor ran. Messages come from `history`, which is complete; where a file lacks it, from
//! the steps. The page `docs/swe-agent.md` says how text actions become calls.

mod write;

use crate::chat::{self, ChatMessage, Run};
use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("swe-agent", "SWE-agent trajectory (.traj)", SIGNS, read)
        .written(write::patch, write::generate)
        .sent_to(Dialect::OpenAiChat);

const STEPS: Member = All(&[Has("/trajectory/*/action"), Has("/trajectory/*/observation")]);
const HISTORY: Member = All(&[Has("/history/*/role"), Has("/history/*/agent")]);

const SIGNS: &[Sign] =
    &[Sign::new(100, &[STEPS, HISTORY]), Sign::new(90, &[Any(&[STEPS, HISTORY])])];

/// Reads a trajectory. It holds one session.
fn read(text: &str) -> Result<Vec<Session>, ReadError> {
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
    let mut run = Run::new(SessionBuilder::new(id, FORMAT.id, source), model);
    run.out.session.cluster = cluster_of(&document, &config);
    if from_history {
        for (record, entry) in (0u32..).zip(value::list(&document, "history")) {
            read_entry(&mut run, entry, record);
        }
    } else if let Some(steps) = document["trajectory"].as_array() {
        for (index, step) in (0u32..).zip(steps) {
            read_step(&mut run, step, index);
        }
    } else {
        return Err(value::malformed("/history", "neither `history` nor `trajectory` is a list"));
    }
    // People count entries, demonstrations included, and steps.
    if let (Some(history), Some(steps)) =
        (document["history"].as_array(), document["trajectory"].as_array())
    {
        run.out.session.recorded =
            Some(Recorded { messages: history.len(), tool_calls: steps.len() });
    }
    only(run.out.finish_run())
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

fn push(run: &mut Run, (role, parts, mid_turn): ChatMessage, record: Option<u32>) -> &mut Message {
    let wanted = match record {
        Some(record) => format!("history-{record}"),
        None => format!("step-{}", run.out.messages.len()),
    };
    let answer = Answer { model: run.model.clone(), ..Answer::default() };
    let message = run.out.push(record.unwrap_or_default(), &wanted, role, parts);
    message.record = record;
    message.mid_turn = mid_turn;
    message.answer = (role == Role::Assistant).then_some(answer);
    message
}

fn read_entry(run: &mut Run, entry: &Value, record: u32) {
    // A demonstration is an example of another task, replayed in front of this one.
    if value::flag(entry, "is_demo") {
        return;
    }
    let told = match value::text(entry, "role").unwrap_or_default() {
        role @ ("system" | "tool" | "user") => {
            run.told(role, &entry["content"], entry["tool_call_ids"][0].as_str())
        }
        "assistant" => Some(run.answered(answer_parts(entry, record))),
        role => {
            let detail = format!("an entry of the unknown role `{role}`, skipped");
            return run.out.warn("unknown-type", format!("/history/{record}"), detail);
        }
    };
    if let Some(told) = told {
        push(run, told, Some(record)).agent = value::string(entry, "agent");
    }
}

fn read_step(run: &mut Run, step: &Value, index: u32) {
    let said = |field: &str| value::filled(step, field).map(Part::text);
    let action = value::text(step, "action").filter(|action| !action.trim().is_empty());
    let parts: Vec<Part> = match action {
        Some(action) => said("thought").into_iter().chain([text_action(action, index)]).collect(),
        None => said("response").or_else(|| said("thought")).into_iter().collect(),
    };
    let told = run.answered(parts);
    push(run, told, None);
    if action.is_some() {
        push(run, Run::output(call_id(index), &step["observation"]), None);
    }
}

/// Parts of an assistant entry.
///
/// With function calling the calls are recorded. Without, the model wrote its action as text: the
/// action becomes a call named after its first word, and the text is what stands around it.
fn answer_parts(entry: &Value, record: u32) -> Vec<Part> {
    let mut parts = thinking(entry);
    let calls = value::list(entry, "tool_calls");
    let action = value::text(entry, "action").filter(|action| !action.trim().is_empty());
    match action.filter(|_| calls.is_empty()) {
        Some(action) => {
            let thought = value::filled(entry, "thought");
            parts.extend(thought.map(|thought| Part::text(thought).at("/thought")));
            parts.push(text_action(action, record).at("/action"));
        }
        None => {
            parts.extend(chat::parts(&entry["content"]));
            parts.extend(chat::calls(entry));
        }
    }
    parts
}

/// A call made of an action in text. Its id is its place, since the recorder has none.
fn text_action(action: &str, record: u32) -> Part {
    let tool = action.split_whitespace().next().unwrap_or("action");
    Part::call(call_id(record), tool, json!({ "action": action }).to_string())
}

/// Id of the call that the entry `record` makes.
fn call_id(record: u32) -> String {
    format!("action-{record}")
}

fn thinking(entry: &Value) -> Vec<Part> {
    let blocks = value::list(entry, "thinking_blocks").iter().enumerate();
    let thought = |(index, block): (usize, &Value)| {
        let at = format!("/thinking_blocks/{index}");
        if value::text(block, "type") == Some("redacted_thinking") {
            return redacted(value::string(block, "data")).at(format!("{at}/data"));
        }
        signed_member(block, "thinking", value::string(block, "signature"), &at)
    };
    blocks.map(thought).collect()
}
