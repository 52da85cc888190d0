//! A session as Codex would find it: the recorder's own lines where nothing changed.

use super::generate;
use crate::overlay::{Overlay, Rules, Step};
use crate::raw::{Item, rebuild};
use crate::time::format_rfc3339;
use crate::{Outcome, Session, View, WriteError};
use foldback_core::SegmentKind;
use foldback_core::log::{Role, Usage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

const RULES: Rules = Rules { edited: generate::edited, element };

/// Only a replacement history puts several messages into one line.
fn element(pointer: &str) -> Option<&str> {
    const HISTORY: &str = "/payload/replacement_history/";
    let index = pointer.strip_prefix(HISTORY)?;
    let end = index.find('/').unwrap_or(index.len());
    pointer.get(..HISTORY.len() + end)
}

/// Writes the view: patched where the session came from this format, else anew.
pub(super) fn write(view: &View<'_>) -> Result<Outcome, WriteError> {
    if view.session.format == super::ID { patched(view) } else { Ok(anew(view)) }
}

fn patched(view: &View<'_>) -> Result<Outcome, WriteError> {
    let session = view.session;
    let mut overlay = Overlay::new(view, &RULES, &copies(session));
    let is_new = |step: &Step<'_>| matches!(step, Step::New(_));
    if overlay.dropped.is_empty() && overlay.changes.is_empty() && !overlay.steps.iter().any(is_new)
    {
        return Ok(Outcome { text: session.source.text.to_string(), losses: overlay.losses });
    }
    let steps = std::mem::take(&mut overlay.steps);
    let mut compactions = 0;
    let mut items = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Record(record) if is_opaque_compaction(session, *record) => compactions += 1,
            Step::Record(record) => items.push(overlay.item(session, *record)?),
            Step::New(shown) => {
                let next = steps[index + 1..].iter().find_map(|step| match step {
                    Step::Record(record) => timestamp_of(session, *record),
                    Step::New(_) => None,
                });
                let message = shown.to_message();
                let at = next.unwrap_or_else(|| format_rfc3339(message.at.unwrap_or(0)));
                let payload = generate::message("user", &message.shown_text());
                items.push(Item::New(generate::line(&at, "response_item", payload)));
            }
        }
    }
    let mut losses = overlay.losses;
    if !overlay.dropped.is_empty() {
        losses.push(format!(
            "{} line(s) of messages that are no longer sent were taken out; the events that repeat \
             them for the screen stay",
            overlay.dropped.len()
        ));
    }
    if compactions > 0 {
        losses.push(format!(
            "{compactions} compaction(s) of the recorder's own were taken out: they would replace \
             what the view shows"
        ));
    }
    Ok(Outcome { text: rebuild(&session.source, &items), losses })
}

/// Lines that repeat an earlier one to the letter.
fn copies(session: &Session) -> BTreeMap<u32, u32> {
    let mut first: HashMap<&str, u32> = HashMap::new();
    let mut copies = BTreeMap::new();
    for (record, range) in (0u32..).zip(&session.source.records) {
        let original = *first.entry(&session.source.text[range.clone()]).or_insert(record);
        if original != record {
            copies.insert(record, original);
        }
    }
    copies
}

/// A `compacted` line that no message was read from.
fn is_opaque_compaction(session: &Session, record: u32) -> bool {
    let Some(text) = session.source.record(record) else {
        return false;
    };
    // The type stands in the first bytes; parsing every line for it would double the work.
    let opening = text.char_indices().nth(120).map_or(text, |(at, _)| &text[..at]);
    opening.contains("\"compacted\"")
        && serde_json::from_str::<Value>(text).is_ok_and(|line| line["type"] == "compacted")
        && !session.messages.iter().any(|message| message.record == Some(record))
}

fn timestamp_of(session: &Session, record: u32) -> Option<String> {
    let line: Value = serde_json::from_str(session.source.record(record)?).ok()?;
    line["timestamp"].as_str().map(str::to_owned)
}

fn anew(view: &View<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let first = view.sent.iter().find_map(|shown| shown.message.at);
    let mut at = first.unwrap_or(0);
    // Lines have no ids: what is said twice in a millisecond would be taken for one line.
    let mut written = HashSet::new();
    let mut push = |mut at: i64, kind: &str, payload: Value| {
        let line = loop {
            let line = generate::line(&format_rfc3339(at), kind, payload.clone()).to_string();
            match written.contains(&line) {
                true => at += 1,
                false => break line,
            }
        };
        outcome.text.push_str(&line);
        outcome.text.push('\n');
        written.insert(line);
    };
    let instructions: Vec<&str> = view
        .frame
        .segments
        .iter()
        .filter(|segment| segment.kind == SegmentKind::System)
        .map(|segment| segment.text.as_str())
        .collect();
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
    let mut losses = Vec::new();
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
        for item in generate::items(&message, &mut losses) {
            push(at, "response_item", item);
        }
        if let Some(usage) = answer.and_then(|answer| answer.usage) {
            total.uncached += usage.uncached;
            total.cache_read += usage.cache_read;
            total.cache_write += usage.cache_write;
            total.output += usage.output;
            total.reasoning += usage.reasoning;
            let count = generate::token_count(&usage, &total, view.session.limits.context);
            push(at, "event_msg", count);
        }
    }
    if view.frame.segments.iter().any(|segment| segment.kind != SegmentKind::System) {
        losses.push("segments around the history other than the system prompt".to_owned());
    }
    outcome.losses = losses;
    outcome
}
