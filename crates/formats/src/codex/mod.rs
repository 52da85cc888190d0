//! `codex`: the rollout files that OpenAI Codex keeps in `~/.codex/sessions`.
//!
//! A rollout is two logs in one: `response_item` lines are what the model is sent and answers,
//! `event_msg` lines repeat the same for the screen. Messages come from the former alone; from the
//! latter come usage, the window, and where turns begin and end. One item is read as the Responses API has it,
//! [`read`] puts them together to answers. The page `docs/codex.md` lists what is mapped to what.

mod read;
mod write;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "codex",
    "OpenAI Codex rollout (JSON lines of ~/.codex/sessions)",
    SIGNS,
    read::read,
)
.written(write::patch, write::generate)
.sent_to(Dialect::OpenAiResponses);

const SIGNS: &[Sign] = &[
    Sign::new(100, &[Has("/payload"), Is("/type", &["session_meta"])]).lines(20),
    Sign::new(95, &[Has("/payload"), Is("/type", &["response_item", "event_msg"])]).lines(20),
    // Rollouts of early 2025 have no envelope.
    Sign::new(80, &[Is("/record_type", &["state"])]).lines(20),
];

/// Where the header of a rollout names its parent: the rollout that it was forked from, spawned by, or continues.
pub(crate) const PARENTS: [&str; 4] = [
    "/forked_from_id",
    "/parent_thread_id",
    "/source/subagent/thread_spawn/parent_thread_id",
    "/history_base/thread_id",
];

/// Whether a line is the header of a rollout. Those of early 2025 have no type.
fn is_header(line: &str) -> bool {
    let opening = peek(line);
    opening.is("/type", "session_meta") || opening.has("/id") && !opening.has("/type")
}
