//! From the canonical form back into items.

use crate::bodies::{ToolShape, frame_tools, lines};
use crate::codex::generate as codex;
use crate::overlay::{Overlay, Rules, Step};
use crate::prelude::*;
use crate::raw::{Item, rebuild};

/// Every part is a whole item or, in a message, does not stand alone: nothing is taken out of an item.
const RULES: Rules = Rules { edited: codex::edited, element: |_| None, notes: false };

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let session = view.session;
    let mut overlay = Overlay::new(view, &RULES, &BTreeMap::new());
    if overlay.is_empty() {
        losses.append(&mut overlay.losses);
        return Ok(session.source.text.to_string());
    }
    let Some(whole) = as_one_list(&session.source) else {
        return generate(view, losses);
    };
    losses.append(&mut overlay.losses);
    let mut items = Vec::with_capacity(overlay.steps.len());
    for step in &overlay.steps {
        match step {
            Step::Record(record) => items.push(overlay.item(session, *record)?),
            Step::New(shown) => {
                items.extend(made(&shown.to_message(), losses).into_iter().map(Item::New));
            }
        }
    }
    Ok(rebuild(&whole, &items))
}

/// The source with all its items in one list: an `output` goes to the end of the `input`, as it does in
/// the next request. `None` where the input is a text and not a list, or stands behind the output.
fn as_one_list(source: &Source) -> Option<Source> {
    if source.shape == Shape::Lines {
        return Some(source.clone());
    }
    let is_list = |pointer: &str| {
        raw::locate(&source.text, pointer).is_ok_and(|at| source.text[at].starts_with('['))
    };
    let is_there = |pointer: &str| raw::locate(&source.text, pointer).is_ok();
    if !is_list("/input") {
        return (!is_there("/input")).then(|| source.clone());
    }
    let input = raw::locate(&source.text, "/input").ok()?;
    if source.records.iter().any(|record| record.start < input.start) {
        return None;
    }
    let inputs = raw::elements(&source.text, "/input").ok()?.len();
    let mut changes: Vec<(String, Change)> = Vec::new();
    for range in source.records.get(inputs..)? {
        let item = source.text.get(range.clone())?;
        changes.push(("/input/-".to_owned(), Change::Set(item.to_owned())));
    }
    if is_list("/output") {
        changes.push(("/output".to_owned(), Change::Set("[]".to_owned())));
    }
    let text = raw::patch(&source.text, &changes).ok()?;
    let records = raw::elements(&text, "/input").ok()?;
    (records.len() == source.records.len()).then(|| Source {
        text: text.into(),
        shape: Shape::Document,
        records: records.into(),
    })
}

/// The items of a message; parts that were items of unknown kinds are those items again.
fn made(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    if message.role != Role::Assistant {
        return codex::items(message, losses);
    }
    let mut out = Vec::new();
    for part in &message.parts {
        match &part.kind {
            PartKind::Unknown { raw, name } if value_is_item(raw, name) => out.push(raw.clone()),
            _ => {
                let mut single = message.clone();
                single.parts = vec![part.clone()];
                out.extend(codex::items(&single, losses));
            }
        }
    }
    out
}

fn value_is_item(raw: &Value, name: &str) -> bool {
    raw.get("type").and_then(Value::as_str) == Some(name)
        && (name.ends_with("_call") || name.starts_with("compaction"))
}

/// A request body, one item a line.
pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
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
    let items: Vec<Value> = sent.iter().flat_map(|message| made(message, losses)).collect();
    if sent.iter().any(|message| message.answer.as_ref().is_some_and(|a| a.usage.is_some())) {
        losses.push("usage: items have none".to_owned());
    }
    let head: String =
        body.iter().map(|(key, value)| format!("{}:{value},\n", json!(key))).collect();
    Ok(format!("{{{head}\"input\":[\n{}\n]}}\n", lines(items, ",\n")))
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
