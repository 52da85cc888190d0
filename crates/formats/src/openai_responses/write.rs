//! From the canonical form back into items.

use super::FORMAT;
use crate::bodies::{ToolShape, tools};
use crate::codex::generate;
use crate::overlay::{Overlay, Rules, Step};
use crate::raw::{self, Change, Item, rebuild};
use crate::session::{Shape, Source};
use crate::write::{Outcome, View};
use crate::{Session, WriteError};
use foldback_core::SegmentKind;
use foldback_core::log::{Message, PartKind, Role};
use foldback_core::view::Shown;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Every part is a whole item or, in a message, does not stand alone: nothing is taken out of an item.
const RULES: Rules = Rules { edited: generate::edited, element: |_| None };

pub(super) fn write(view: &View<'_>) -> Result<Outcome, WriteError> {
    let session = view.session;
    if session.format != FORMAT.id || session.source.records.is_empty() {
        return Ok(anew(view));
    }
    let mut overlay = Overlay::new(view, &RULES, &BTreeMap::new());
    let untouched = overlay.dropped.is_empty()
        && overlay.changes.is_empty()
        && !overlay.steps.iter().any(|step| matches!(step, Step::New(_)));
    if untouched {
        return Ok(Outcome { text: session.source.text.to_string(), losses: overlay.losses });
    }
    let Some(whole) = as_one_list(&session.source) else {
        return Ok(anew(view));
    };
    let mut losses = std::mem::take(&mut overlay.losses);
    let mut items = Vec::with_capacity(overlay.steps.len());
    for step in &overlay.steps {
        match step {
            Step::Record(record) => items.push(overlay.item(session, *record)?),
            Step::New(shown) => {
                let new = made(&shown.to_message(), &mut losses);
                items.extend(new.into_iter().map(Item::New));
            }
        }
    }
    Ok(Outcome { text: rebuild(&whole, &items), losses })
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
        records,
    })
}

/// The items of a message; parts that were items of unknown kinds are those items again.
fn made(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    if message.role != Role::Assistant {
        return generate::items(message, losses);
    }
    let mut out = Vec::new();
    for part in &message.parts {
        match &part.kind {
            PartKind::Unknown { raw, name } if value_is_item(raw, name) => out.push(raw.clone()),
            _ => {
                let mut single = message.clone();
                single.parts = vec![part.clone()];
                out.extend(generate::items(&single, losses));
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
fn anew(view: &View<'_>) -> Outcome {
    let mut losses = Vec::new();
    let session: &Session = view.session;
    let mut body = Map::new();
    if let Some(model) = &session.model {
        body.insert("model".to_owned(), model.as_str().into());
    }
    let system: Vec<&str> = view
        .frame
        .segments
        .iter()
        .filter(|segment| segment.kind == SegmentKind::System && !segment.text.is_empty())
        .map(|segment| segment.text.as_str())
        .collect();
    if !system.is_empty() {
        body.insert("instructions".to_owned(), system.join("\n\n").into());
    }
    if let Some(recorded) = view.frame.text_of(SegmentKind::Tools) {
        match tools(recorded, ToolShape::OpenAi) {
            Some(tools) => {
                body.insert("tools".to_owned(), flat(&tools));
            }
            None => losses.push("the tool definitions: they are in no known shape".to_owned()),
        }
    }
    let items: Vec<String> = view
        .sent
        .iter()
        .map(Shown::to_message)
        .flat_map(|message| made(&message, &mut losses))
        .map(|item| item.to_string())
        .collect();
    if view
        .sent
        .iter()
        .any(|shown| shown.message.answer.as_ref().is_some_and(|a| a.usage.is_some()))
    {
        losses.push("usage: items have none".to_owned());
    }
    let head: String =
        body.iter().map(|(key, value)| format!("{}:{value},\n", json!(key))).collect();
    Outcome { text: format!("{{{head}\"input\":[\n{}\n]}}\n", items.join(",\n")), losses }
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
