//! `codex`: the rollout files that OpenAI Codex keeps in `~/.codex/sessions`.
//!
//! A rollout is two logs in one: `response_item` lines are what the model is sent and answers,
//! `event_msg` lines repeat the same for the screen. Messages come from the former alone; from the
//! latter come usage, the window, and where turns begin and end. [`item`] reads one response item,
//! [`read`] puts them together to answers. The page `docs/codex.md` lists what is mapped to what.

pub(crate) mod generate;
pub(crate) mod item;
mod read;
mod write;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "codex",
    "OpenAI Codex rollout (JSON lines of ~/.codex/sessions)",
    detect,
    read::read,
)
.written(write::patch, write::generate);

fn detect(text: &str) -> u8 {
    let mut score = 0;
    for line in text.lines().take(20) {
        let has = |field: &str| line.contains(field);
        if !line.starts_with('{') {
            continue;
        }
        if has("\"type\":\"session_meta\"") && has("\"payload\"") {
            return 100;
        }
        if has("\"payload\"")
            && (has("\"type\":\"response_item\"") || has("\"type\":\"event_msg\""))
        {
            score = 95;
        } else if has("\"record_type\":\"state\"") {
            // Rollouts of early 2025 have no envelope.
            score = score.max(80);
        }
    }
    score
}
