//! A session as Codex would find it: the recorder's own lines where nothing changed.

use crate::bodies::{FileContent, held, mime_of, text_of};
use crate::overlay::{Rules, Step, overlay};
use crate::prelude::*;
use crate::raw::{Item, rebuild};
use crate::time::{format_rfc3339, stamp};
use foldback_providers::wire::responses::{self, edited};

const RULES: Rules = Rules { edited, element };

/// Only a replacement history puts several messages into one line.
fn element(pointer: &str) -> Option<&str> {
    const HISTORY: &str = "/payload/replacement_history/";
    let index = pointer.strip_prefix(HISTORY)?;
    let end = index.find('/').unwrap_or(index.len());
    pointer.get(..HISTORY.len() + end)
}

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let session = view.session;
    let overlay = overlay(view, &RULES, &jsonl::copies(&session.source, super::is_header));
    overlay.tell(losses, "; the events that repeat them for the screen stay");
    if overlay.is_empty() {
        return Ok(session.source.text.to_string());
    }
    let steps = &overlay.steps;
    let mut compactions = 0;
    let mut items = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Record(record) if is_opaque_compaction(session, *record) => compactions += 1,
            Step::Record(record) => items.push(overlay.item(&session.source, *record)?),
            Step::New(shown) => {
                let next = steps[index + 1..].iter().find_map(|step| match step {
                    Step::Record(record) => timestamp_of(session, *record),
                    Step::New(_) => None,
                });
                let message = shown.to_message();
                let at = next.unwrap_or_else(|| stamp(message.at));
                let payload = responses::message("user", &message.shown_text());
                items.push(Item::New(line(&at, "response_item", payload)));
            }
        }
    }
    if compactions > 0 {
        losses.push(format!(
            "{compactions} compaction(s) of the recorder's own were taken out: they would replace \
             what the view shows"
        ));
    }
    Ok(rebuild(&session.source, &items))
}

/// A `compacted` line that no message was read from.
fn is_opaque_compaction(session: &Session, record: u32) -> bool {
    let Some(text) = session.source.record(record) else {
        return false;
    };
    // Parsing every line for it would double the work.
    text.contains("\"compacted\"")
        && serde_json::from_str::<Value>(text).is_ok_and(|line| line["type"] == "compacted")
        && !session.messages.iter().any(|message| message.record == Some(record))
}

fn timestamp_of(session: &Session, record: u32) -> Option<String> {
    let line: Value = serde_json::from_str(session.source.record(record)?).ok()?;
    line["timestamp"].as_str().map(str::to_owned)
}

pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut text = String::new();
    let first = view.sent.iter().find_map(|shown| shown.message.at);
    let mut at = first.unwrap_or(0);
    // Lines have no ids: what is said twice in a millisecond would be taken for one line.
    let mut written = HashSet::new();
    let mut push = |mut at: i64, kind: &str, payload: Value| {
        let line = loop {
            let line = line(&format_rfc3339(at), kind, payload.clone()).to_string();
            if written.contains(&line) { at += 1 } else { break line }
        };
        text.push_str(&line);
        text.push('\n');
        written.insert(line);
    };
    let instructions: Vec<&str> = view.system().collect();
    push(
        at,
        "session_meta",
        json!({
            "id": view.session.id,
            "timestamp": format_rfc3339(at),
            "cwd": "",
            "originator": "foldback",
            "cli_version": "0.0.0",
            "base_instructions": { "text": instructions.join("\n\n") },
        }),
    );
    let mut model: Option<String> = None;
    let mut total = Usage::default();
    for shown in &view.sent {
        let message = shown.to_message();
        if let Some(time) = message.at {
            at = time;
        }
        let answer = message.answer.as_ref().filter(|_| message.role == Role::Assistant);
        let named = answer.and_then(|answer| answer.model.clone());
        if named.is_some() && named != model {
            push(at, "turn_context", json!({ "cwd": "", "model": named }));
            model = named;
        }
        for item in items(&message, losses) {
            push(at, "response_item", item);
        }
        if let Some(usage) = answer.and_then(|answer| answer.usage) {
            total = total.plus(&usage);
            let count = token_count(&usage, &total, view.session.limits.context);
            push(at, "event_msg", count);
        }
    }
    if view.frame.segments().iter().any(|segment| segment.kind != SegmentKind::System) {
        losses.push("segments around the history other than the system prompt".to_owned());
    }
    Ok(text)
}

/// The items of a message. Codex knows images and no other files; the name of a file stays.
fn items(message: &Message, losses: &mut Vec<String>) -> Vec<Value> {
    let mut message = message.clone();
    let fits = |media: &Media| {
        mime_of(media).starts_with("image/") && !matches!(held(media), FileContent::Nowhere)
    };
    let mut lost = 0;
    for part in &mut message.parts {
        match &mut part.kind {
            PartKind::File(media) if !fits(media) => {
                lost += 1;
                part.kind = Part::text(text_of(part)).kind;
            }
            PartKind::Result(result) => {
                let before = result.media.len();
                result.media.retain(fits);
                lost += before - result.media.len();
            }
            _ => {}
        }
    }
    if lost > 0 {
        losses.push(format!("{lost} file(s) that are no images"));
    }
    responses::items(&message, losses)
}

/// A line with its envelope.
fn line(timestamp: &str, kind: &str, payload: Value) -> Value {
    json!({ "timestamp": timestamp, "type": kind, "payload": payload })
}

/// The count that follows an answer, and the running total up to it.
fn token_count(usage: &Usage, total: &Usage, window: u64) -> Value {
    let counts = |usage: &Usage| {
        json!({
            "input_tokens": usage.input_total(),
            "cached_input_tokens": usage.cache_read,
            "output_tokens": usage.output_total(),
            "reasoning_output_tokens": usage.reasoning,
            "total_tokens": usage.total_tokens(),
        })
    };
    json!({
        "type": "token_count",
        "info": {
            "total_token_usage": counts(total),
            "last_token_usage": counts(usage),
            "model_context_window": (window > 0).then_some(window),
        },
    })
}
