//! Writes messages as items.

use crate::wire::shared::made::{
    FileContent, arguments, data_url, held, mime_of, name_of, with_files,
};
use crate::wire::shared::overlay::{Overlay, Rules, Step};
use crate::wire::shared::raw::{self, Change, Item, json_string, rebuild};
use crate::wire::shared::rewrite::{Own, Stale};
use crate::wire::shared::source::{Shape, Source};
use crate::wire::shared::value;
use foldback_core::log::{Media, Message, Part, PartKind, Role};
use foldback_core::view::ShownMessage;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A part is either a whole item or one of several in a message, so nothing is removed from an item.
const RULES: Rules = Rules { edited, element: |_| None };

/// Items with their source.
pub(crate) type Arranged<'a> = (Cow<'a, Source>, Vec<Item>);

/// The text of the source with the items of `sent`. `None` if its items can't be one list: an output stands before the
/// input that it answers, or the input is a text with an output beside it.
///
/// # Errors
///
/// [`Stale`] if an item changed after it was read.
pub fn rewrite(
    own: &Own<'_>,
    sent: &[ShownMessage<'_>],
    losses: &mut Vec<String>,
) -> Result<Option<String>, Stale> {
    let arranged = arranged(own, sent, losses, as_one_list)?;
    Ok(arranged.map(|(source, items)| rebuild(&source, &items)))
}

/// The items of a request as `sent` shows them, with their source: the request's own, or for a request whose input is a
/// text, one with a list instead.
///
/// # Errors
///
/// As with [`rewrite`].
pub(crate) fn items_of<'a>(
    own: &Own<'a>,
    sent: &[ShownMessage<'_>],
    losses: &mut Vec<String>,
) -> Result<Option<Arranged<'a>>, Stale> {
    // All its records are in one list.
    arranged(own, sent, losses, |source| Some(Cow::Borrowed(source)))
}

fn arranged<'a>(
    own: &Own<'a>,
    sent: &[ShownMessage<'_>],
    losses: &mut Vec<String>,
    one_list: impl Fn(&'a Source) -> Option<Cow<'a, Source>>,
) -> Result<Option<Arranged<'a>>, Stale> {
    let mut overlay = Overlay::compare(own, sent, &RULES, &|_, _| false).arranged(own, sent);
    if overlay.is_empty() {
        losses.append(&mut overlay.losses);
        let all = (0u32..).take(own.source.records.len()).map(Item::Keep).collect();
        return Ok(Some((Cow::Borrowed(own.source), all)));
    }
    let (whole, was_text) = match as_message(own.source) {
        Some(whole) => (Cow::Owned(whole), true),
        None => match one_list(own.source) {
            Some(whole) => (whole, false),
            None => return Ok(None),
        },
    };
    if was_text {
        // The text is the content of a message now.
        for (pointer, _) in overlay.changes.values_mut().flatten() {
            pointer.insert_str(0, "/content");
        }
    }
    losses.append(&mut overlay.losses);
    let mut items = Vec::with_capacity(overlay.steps.len());
    for step in &overlay.steps {
        match step {
            Step::Record(record) => items.push(overlay.item(&whole, *record)?),
            Step::New(shown) => {
                items.extend(records(&shown.to_message(), losses).into_iter().map(Item::New));
            }
        }
    }
    Ok(Some((whole, items)))
}

/// The source with its input, a text, as a list of one message. `None` if the input is not a text.
fn as_message(source: &Source) -> Option<Source> {
    let [input] = &source.records[..] else { return None };
    let text = source.text.get(input.clone()).filter(|text| text.starts_with('"'))?;
    if raw::locate(&source.text, "/input").ok().as_ref() != Some(input) {
        return None;
    }
    let list = format!("[{{\"role\":\"user\",\"content\":{text}}}]");
    let text = raw::patch(&source.text, &[("/input".to_owned(), Change::Set(list))]).ok()?;
    Source::document(&text, "/input").ok()
}

/// The source with all its items in one list: an `output` goes to the end of the `input`, as it does in
/// the next request. `None` if the input is a text and not a list, or stands behind the output.
fn as_one_list(source: &Source) -> Option<Cow<'_, Source>> {
    if source.shape == Shape::Lines {
        return Some(Cow::Borrowed(source));
    }
    let is_list = |pointer: &str| {
        raw::locate(&source.text, pointer).is_ok_and(|at| source.text[at].starts_with('['))
    };
    let is_there = |pointer: &str| raw::locate(&source.text, pointer).is_ok();
    if !is_list("/input") {
        return (!is_there("/input")).then_some(Cow::Borrowed(source));
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
    (records.len() == source.records.len()).then(|| {
        Cow::Owned(Source { text: text.into(), shape: Shape::Document, records: records.into() })
    })
}

/// A message of one text.
pub fn message(role: &str, text: &str) -> Value {
    let kind = match role {
        "assistant" => "output_text",
        _ => "input_text",
    };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

/// The response items of a message. What the protocol has no place for goes to `losses`.
pub fn items(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    match message.role {
        Role::Assistant => answer(message, losses),
        Role::Tool => message
            .parts
            .iter()
            .filter_map(Part::as_result)
            .map(|result| {
                let output = with_files(result, "input_text", file);
                json!({ "type": "function_call_output", "call_id": result.call_id, "output": output })
            })
            .collect(),
        Role::User | Role::System => {
            let role = match message.role {
                Role::System => "developer",
                _ => "user",
            };
            let mut content = Vec::new();
            for part in &message.parts {
                match &part.kind {
                    PartKind::File(media) => content.push(file(media)),
                    PartKind::Unknown { name, .. } => losses.push(unknown(name)),
                    _ if part.shown().is_empty() => {}
                    _ => content.push(json!({ "type": "input_text", "text": part.shown() })),
                }
            }
            // The API refuses a message without content.
            if content.is_empty() {
                return Vec::new();
            }
            vec![json!({ "type": "message", "role": role, "content": content })]
        }
    }
}

fn answer(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    let mut items = Vec::new();
    for part in &message.parts {
        match &part.kind {
            PartKind::Text { text, .. } if text.is_empty() => {}
            PartKind::Text { text, .. } => items.push(self::message("assistant", text)),
            PartKind::Reasoning { text, opaque } => {
                let summary = match text.is_empty() {
                    true => json!([]),
                    false => json!([{ "type": "summary_text", "text": text }]),
                };
                items.push(json!({
                    "type": "reasoning", "summary": summary, "encrypted_content": opaque,
                }));
            }
            PartKind::Call(call) => items.push(json!({
                "type": "function_call",
                "name": call.tool,
                "arguments": arguments(call),
                "call_id": call.call_id,
            })),
            PartKind::Unknown { name, raw } if name.ends_with("_call") => items.push(raw.clone()),
            PartKind::Unknown { name, .. } => losses.push(unknown(name)),
            PartKind::Marker(_) | PartKind::Result(_) => {
                items.push(self::message("assistant", &part.shown()));
            }
            PartKind::File(_) => losses.push("a file in an answer was left out".to_owned()),
        }
    }
    items
}

fn unknown(name: &str) -> String {
    format!("a part of the unknown kind `{name}` was left out")
}

/// A file as content. What the API does not take becomes a line of text.
fn file(media: &Media) -> Value {
    let mime = mime_of(media);
    let image = mime.starts_with("image/");
    match held(media) {
        FileContent::Data(data) if image => {
            json!({ "type": "input_image", "image_url": data_url(mime, data) })
        }
        FileContent::Link(url) if image => json!({ "type": "input_image", "image_url": url }),
        FileContent::Data(data) if !mime.starts_with("audio/") => {
            let name = media.name.as_deref().unwrap_or("file");
            json!({ "type": "input_file", "filename": name, "file_data": data_url(mime, data) })
        }
        FileContent::Link(url) => json!({ "type": "input_file", "file_url": url }),
        FileContent::Data(_) | FileContent::Nowhere => {
            json!({ "type": "input_text", "text": name_of(media) })
        }
    }
}

/// The JSON text that replaces an edited part.
pub fn edited(part: &Part, text: &str) -> Option<String> {
    match &part.kind {
        PartKind::Text { .. } => Some(json_string(text)),
        PartKind::Reasoning { .. } => {
            Some(json!([{ "type": "summary_text", "text": text }]).to_string())
        }
        // A structured output (found tools) has no place for a text.
        PartKind::Result(result) => result.structured.is_none().then(|| json_string(text)),
        PartKind::Call(call) => match call.tool.as_str() {
            "tool_search" | "local_shell" => None,
            _ => Some(json_string(text)),
        },
        PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. } => None,
    }
}

/// The items of a message. Parts that were read from items of unknown kinds become those items again.
pub fn records(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    if message.role != Role::Assistant {
        return items(message, losses);
    }
    let mut out = Vec::new();
    let mut single = message.clone();
    for part in &message.parts {
        match &part.kind {
            PartKind::Unknown { raw, name } if value_is_item(raw, name) => out.push(raw.clone()),
            _ => {
                single.parts = vec![part.clone()];
                out.extend(items(&single, losses));
            }
        }
    }
    out
}

fn value_is_item(raw: &Value, name: &str) -> bool {
    value::text(raw, "type") == Some(name)
        && (name.ends_with("_call") || name.starts_with("compaction"))
}
