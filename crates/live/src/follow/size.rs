//! What a conversation takes in memory, by estimate: everything that a client can make long, and what stands beside each
//! message and part.
//!
//! The constants are of a 64-bit machine: the values themselves, and their rows in the engine, in the keys and in what
//! is kept for reading the next request. A test of `foldback-serve` holds the estimate against an allocator that counts,
//! and `cargo bench -p foldback-serve --bench proxy -- weight` against the memory of a process.

use foldback_core::Frame;
use foldback_core::conversation::Fold;
use foldback_core::layout::Slot;
use foldback_core::log::{Media, Message, Part, PartKind, ToolResult};
use foldback_core::plan::Edit;
use serde_json::Value;

/// Beside all of its messages: the conversation and its maps.
pub(super) const CONVERSATION: usize = 10_000;

/// Beside a message: its id, its place in log, history and view, its counts, its key.
const MESSAGE: usize = size_of::<Message>() + 750;

/// Beside a message that a copy of its conversation has in common with it: its place in log, history and view, its
/// counts.
pub(super) const COPIED: usize = 300;

/// Beside a part: its pointer, its counts, its row in the meter.
const PART: usize = size_of::<Part>() + 150;

/// Beside a call or a result: the places of its id in the maps of the reader and of the engine.
const CALL: usize = 350;

/// Copies of a call's id and of its tool's name: in the call and in its result, and in those maps.
const CALL_ID: usize = 5;
const CALL_TOOL: usize = 3;

/// Beside a part of a type that nobody knows: what is said of it.
const UNKNOWN: usize = 250;

/// A member of an object: its name, its value, their hash, and their place in a table.
const MEMBER: usize = size_of::<(String, Value)>() + 17;

/// Behind a fold: the layout that it made, and what it says of itself.
const FOLD: usize = 2_000;

/// Beside an edit: its place among those in force, and what was there before.
const EDIT: usize = size_of::<Edit>() + 150;

/// Bytes of a message of a request or of an entry.
pub(super) fn of_message(message: &Message) -> usize {
    let Message { id, parts, parent, agent, annotations, answer, .. } = message;
    let noted = annotations.iter().map(|(name, value)| 100 + name.len() + value.len());
    // Its own text, and the place of the id in the reader.
    let own = MESSAGE + 2 * id.len() + of_text(parent) + of_text(agent) + noted.sum::<usize>();
    let bytes = own + parts.iter().map(|part| PART + of_part(part)).sum::<usize>();
    // What the provider said of an answer is in a copy; the other is kept for reading the next request.
    let is_told =
        answer.as_ref().is_some_and(|answer| answer.usage.is_some() || answer.finish.is_some());
    if is_told { 2 * bytes } else { bytes }
}

/// Bytes of folds, with the messages that they wrote, which are in the history besides.
pub(super) fn of_folds(folds: &[Fold]) -> usize {
    folds.iter().map(of_fold).sum()
}

fn of_fold(fold: &Fold) -> usize {
    let plan = &fold.plan;
    let edits = plan.edits.iter().map(|edit| EDIT + edit.text.len());
    let slots = plan.layout.iter().flat_map(|layout| &layout.slots).map(of_slot);
    size_of::<Fold>()
        + FOLD
        // The layout is in force, too.
        + 2 * slots.sum::<usize>()
        + edits.sum::<usize>()
        + plan.entries.iter().map(of_message).sum::<usize>()
        + plan.reasons.iter().chain(&plan.summaries).map(String::len).sum::<usize>()
        + plan.tables.iter().map(|(name, table)| name.len() + MEMBER + of_value(table)).sum::<usize>()
}

fn of_slot(slot: &Slot) -> usize {
    match slot {
        Slot::Keep(_) => size_of::<Slot>(),
        Slot::Insert(insert) => MESSAGE + insert.text().len(),
    }
}

/// Bytes of a frame.
pub(super) fn of_frame(frame: &Frame) -> usize {
    frame.segments().iter().map(|segment| size_of_val(segment) + segment.text.len()).sum()
}

fn of_part(part: &Part) -> usize {
    match &part.kind {
        PartKind::Text { text, .. } => text.len(),
        PartKind::Reasoning { text, opaque } => text.len() + of_text(opaque),
        PartKind::Call(call) => {
            let names = CALL_ID * call.call_id.len() + CALL_TOOL * call.tool.len();
            // They are written piece by piece, into a text with room for more.
            CALL + names + call.arguments.capacity()
        }
        PartKind::Result(result) => CALL + of_result(result),
        PartKind::File(media) => of_media(media),
        PartKind::Marker(marker) => marker.text.len() + of_text(&marker.tail_start),
        PartKind::Unknown { name, raw } => UNKNOWN + 2 * name.len() + of_value(raw),
    }
}

fn of_result(result: &ToolResult) -> usize {
    let ToolResult { call_id, tool, text, structured, media, status: _ } = result;
    let media = media.iter().map(of_media).sum::<usize>();
    call_id.len() + tool.len() + text.len() + structured.as_ref().map_or(0, of_value) + media
}

fn of_media(media: &Media) -> usize {
    size_of::<Media>() + media.mime.len() + of_text(&media.name) + media.url.len()
}

/// Bytes of a tree of values beside the value itself: many times its text where it holds small ones.
fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => {
            items.capacity() * size_of::<Value>() + items.iter().map(of_value).sum::<usize>()
        }
        Value::Object(members) if members.is_empty() => 0,
        Value::Object(members) => {
            // A table has room for powers of two, of which an eighth stays free.
            let room = (members.len() * 8).div_ceil(7).next_power_of_two().max(4);
            let within = members.iter().map(|(name, value)| name.len() + of_value(value));
            room * MEMBER + within.sum::<usize>()
        }
    }
}

fn of_text(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}
