//! What a conversation takes in memory, by estimate: its texts, and what stands beside each message and part.
//!
//! The constants are of a 64-bit machine: the values themselves, and their rows in the engine, in the keys and in what
//! is kept for reading the next request. `cargo bench -p foldback-serve --bench proxy -- weight` holds the estimate
//! against the memory of a process.

use foldback_core::Frame;
use foldback_core::conversation::Fold;
use foldback_core::log::{Media, Message, Part, PartKind};

/// Beside all of its messages: the conversation and its maps.
pub(super) const CONVERSATION: usize = 10_000;

/// Beside a message: its id, its place in log, history and view, its counts, its key.
const MESSAGE: usize = size_of::<Message>() + 750;

/// Beside a part: its pointer, its counts, its row in the meter.
const PART: usize = size_of::<Part>() + 150;

/// Beside a call or a result: its id in three maps, and the name of its tool.
const CALL: usize = 350;

/// Behind a fold: what it hid and edited, and the layout that it made.
const FOLD: usize = 4_000;

/// Bytes of a message.
pub(super) fn of_message(message: &Message) -> usize {
    MESSAGE + message.parts.iter().map(|part| PART + of_part(part)).sum::<usize>()
}

/// Bytes of folds, beside the messages that they wrote.
pub(super) fn of_folds(folds: &[Fold]) -> usize {
    size_of_val(folds) + folds.len() * FOLD
}

/// Bytes of a frame.
pub(super) fn of_frame(frame: &Frame) -> usize {
    frame.segments().iter().map(|segment| size_of_val(segment) + segment.text.len()).sum()
}

fn of_part(part: &Part) -> usize {
    match &part.kind {
        PartKind::Text { text, .. } => text.len(),
        PartKind::Reasoning { text, opaque } => text.len() + opaque.as_ref().map_or(0, String::len),
        PartKind::Call(call) => CALL + call.arguments.len(),
        PartKind::Result(result) => {
            CALL + result.text.len() + result.media.iter().map(of_media).sum::<usize>()
        }
        PartKind::File(media) => of_media(media),
        PartKind::Marker(marker) => marker.text.len(),
        // A tree of values takes several times its text.
        PartKind::Unknown { raw, .. } => 4 * raw.to_string().len(),
    }
}

fn of_media(media: &Media) -> usize {
    size_of::<Media>() + media.url.len()
}
