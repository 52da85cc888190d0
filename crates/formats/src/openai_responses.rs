//! `openai-responses`: items as OpenAI's Responses API takes and gives them. A bare list, the body of a
//! request (`input`), a response (`output`), both in one, a list of a conversation (`data`, `items`), or
//! one of these a line; also one item a line.
//!
//! Every item is one record, and the items of one response are one answer. Codex writes the same items
//! into its rollouts, so they are read and made by that format's code. `docs/openai-responses.md` has the
//! mapping.

use crate::bodies::{self, ToolShape, frame_tools};
use crate::prelude::*;
use crate::session::KEPT_ELSEWHERE;
use foldback_providers::wire::responses;

pub(crate) const FORMAT: Format = Format::new(
    "openai-responses",
    "OpenAI Responses: items, request bodies and responses, also one a line",
    SIGNS,
    read,
)
.written(patch, generate)
.request_to(Dialect::OpenAiResponses);

/// Where lists of items stand, in the order in which they are sent.
const LISTS: [&str; 5] = ["/input", "/output", "/items", "/data", ""];
/// Types that only items have.
const OWN_TYPES: &[&str] =
    &["function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"];
/// Types of content that only messages among items have.
const OWN_CONTENT: &[&str] = &["input_text", "output_text", "input_image"];

/// Members that only items have.
const ITEM: Member = Any(&[
    Is("/type", OWN_TYPES),
    Is("/content/*/type", OWN_CONTENT),
    All(&[Is("/type", &["reasoning"]), Has("/summary")]),
    All(&[Is("/type", &["compaction"]), Has("/encrypted_content")]),
]);

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Is("/object", &["response", "response.compaction"]), Has("/output")]),
    Sign::new(88, &[ITEM]).below(&["/input/*", "/output/*", "/items/*", "/data/*", "/*"]),
    // One item a line.
    Sign::new(88, &[ITEM, Has("/type"), Lacks("/payload")]),
    // A body of messages alone, in the short form.
    Sign::new(60, &[Has("/input/*/role"), Has("/input/*/content")]),
];

/// Reads a document, or the documents or items of a file with one a line.
fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    match value::document(text) {
        Ok(root) => match conversation(text, &root)? {
            Some(session) => Ok(vec![session]),
            None => Err(value::malformed(
                "/input",
                "a list of items is needed here, in `output` or at the top",
            )),
        },
        Err(error) => lines(text).ok_or(error),
    }
}

/// A file of lines: each a body, or each an item of one conversation.
fn lines(text: &str) -> Option<Vec<Session>> {
    let source = Source::lines(text);
    let mut sessions = Vec::new();
    let mut items = Vec::new();
    let mut damaged = Vec::new();
    for (record, root) in jsonl::values(&source) {
        match root {
            Ok(root) => match conversation(source.record(record)?, &root) {
                Ok(Some(session)) => sessions.push(session),
                _ => items.push((record, root)),
            },
            Err(warning) => damaged.push(warning),
        }
    }
    if sessions.is_empty() {
        let items = items.iter().map(|(record, item)| (*record, item));
        let session = session(value::content_id(text), source, &Value::Null, items);
        if session.messages.is_empty() {
            return None;
        }
        sessions.push(session);
    } else {
        for (record, _) in items {
            let place = source.place(record);
            sessions[0].warn("damaged-line", place, "no list of items in it; left out");
        }
    }
    sessions[0].warnings.extend(damaged);
    Some(sessions)
}

/// The conversation of a document; `None` where it holds no list of items.
fn conversation(text: &str, root: &Value) -> Result<Option<Session>, ReadError> {
    let lists: Vec<&str> =
        LISTS.into_iter().filter(|list| root.pointer(list).is_some_and(Value::is_array)).collect();
    let mut records = Vec::new();
    let asked = root.get("input").filter(|input| input.is_string());
    let fail = |error: raw::RawError| value::malformed("/input", error.to_string());
    if asked.is_some() {
        records.push(raw::locate(text, "/input").map_err(fail)?);
    }
    for list in &lists {
        records.extend(raw::elements(text, list).map_err(fail)?);
    }
    if lists.is_empty() && asked.is_none() {
        return Ok(None);
    }
    // Records in the order of the file; a response may stand before what it answers.
    let sent = records.clone();
    records.sort_by_key(|range| range.start);
    let source = Source { text: text.into(), shape: Shape::Document, records: records.into() };
    let id = value::first_string(root, &["conversation_id", "session_id", "id"])
        .unwrap_or_else(|| value::content_id(text));
    let items = lists.iter().filter_map(|list| root.pointer(list)?.as_array()).flatten();
    let items: Vec<(u32, &Value)> = sent
        .iter()
        .zip(asked.into_iter().chain(items))
        .map(|(range, item)| {
            let record = source.records.partition_point(|other| other.start < range.start);
            (record as u32, item)
        })
        .collect();
    Ok(Some(session(id, source, root, items.into_iter())))
}

/// The session of a body and its items, each with the index of its record.
fn session<'a>(
    id: String,
    source: Source,
    root: &Value,
    items: impl Iterator<Item = (u32, &'a Value)> + Clone,
) -> Session {
    let is_call =
        |item: &Value| value::text(item, "type").is_some_and(|kind| kind.ends_with("_call"));
    let recorded = Recorded {
        messages: items.clone().count(),
        tool_calls: items.clone().filter(|(_, item)| is_call(item)).count(),
    };
    let mut session = Session::new(id, FORMAT.id, source);
    session.model = value::string(root, "model");
    session.recorded = Some(recorded);
    let placed = items.map(|(record, item)| (record, format!("item {record}"), item));
    let mut out = SessionBuilder::read(session, responses::read(root, placed));
    out.compactions("replace", "auto");
    out.infer_finish();
    if let Some(member) = responses::KEPT_HISTORY.iter().find(|member| !root[**member].is_null()) {
        let detail = "the provider keeps what was said before: the recording begins in the middle";
        out.warn(KEPT_ELSEWHERE, format!("/{member}"), detail);
    }
    out.finish()
}

fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    match responses::rewrite(&view.session.own(), &view.sent, losses)? {
        Some(text) => Ok(text),
        None => generate(view, losses),
    }
}

/// A request body, one item a line.
fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut body = Map::new();
    if let Some(model) = &view.session.model {
        body.insert("model".to_owned(), model.as_str().into());
    }
    let system: Vec<&str> = view.system().collect();
    if !system.is_empty() {
        body.insert("instructions".to_owned(), system.join("\n\n").into());
    }
    if let Some(tools) = frame_tools(view.frame, ToolShape::OpenAi, losses) {
        body.insert("tools".to_owned(), flat(&tools));
    }
    let sent = view.messages();
    let items: Vec<Value> =
        sent.iter().flat_map(|message| responses::records(message, losses)).collect();
    if sent.iter().any(|message| message.answer.as_ref().is_some_and(|a| a.usage.is_some())) {
        losses.push("usage: items have none".to_owned());
    }
    let head: String =
        body.iter().map(|(key, value)| format!("{}:{value},\n", json!(key))).collect();
    Ok(format!("{{{head}\"input\":[\n{}\n]}}\n", bodies::lines(items, ",\n")))
}

/// Definitions of the Chat Completions API in the shape of this one, which has no inner object.
fn flat(tools: &Value) -> Value {
    let tools = tools.as_array().into_iter().flatten();
    tools
        .map(|tool| match tool.get("function") {
            Some(Value::Object(function)) => {
                let mut out = Map::new();
                out.insert("type".to_owned(), "function".into());
                out.extend(function.iter().map(|(key, value)| (key.clone(), value.clone())));
                Value::Object(out)
            }
            _ => tool.clone(),
        })
        .collect()
}
