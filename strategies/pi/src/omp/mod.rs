//! The maintenance of oh-my-pi, a fork of pi: what a newer read has made stale goes first, where that is cheap for the provider's cache;
//! at pressure, heavy content gives way to short lines; and only where that is not enough, everything before the newest messages
//! becomes a summary.

mod checkpoint;
pub mod paths;
mod shake;
mod stale;

pub use checkpoint::{OmpCheckpoint, OmpCheckpointConfig};
pub use shake::{Shake, ShakeConfig, blocks};
pub use stale::{SUPERSEDED, Stale, StaleConfig};

use foldback_core::log::ToolCall;
use foldback_core::stage::StageContext;
use foldback_core::view::Pos;
use std::collections::BTreeMap;

/// The calls of these messages by their ids.
fn calls<'a>(
    context: &StageContext<'a>,
    messages: impl Iterator<Item = Pos>,
) -> BTreeMap<&'a str, &'a ToolCall> {
    let history = context.history;
    let parts = messages.flat_map(|pos| history.message(pos).parts.iter());
    parts.filter_map(|part| part.as_call()).map(|call| (call.call_id.as_str(), call)).collect()
}

/// Whether a result stays in any case: what a skill said, and what was read below one of these addresses.
fn stays(tool: &str, path: Option<&str>, below: &[&str]) -> bool {
    tool == "skill"
        || tool == "read"
            && path.is_some_and(|path| below.iter().any(|scheme| path.starts_with(scheme)))
}
