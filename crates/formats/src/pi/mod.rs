//! `pi`: the JSON lines that the coding agent pi keeps in `~/.pi/agent/sessions`.
//!
//! A line is an entry: a message, a compaction, a change of model, or something of an extension. From
//! version 2 of the format on, entries have `id` and `parentId` and form a tree whose newest leaf is
//! the conversation; before, the order of the lines is the order of events. [`line`] parses the
//! entries and finds that path, [`read`] turns them into messages, [`write`] patches the lines.
//! `docs/pi.md` has the mapping.

mod generate;
mod line;
mod read;
mod write;

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("pi", "pi session (JSON lines of ~/.pi/agent/sessions)", detect, read::read)
        .written(write::patch, write::generate);

/// The header is the first line of every file; a file cut off at the front still has entries whose
/// messages carry pi's names for roles and usage.
fn detect(text: &str) -> u8 {
    jsonl::surest(text, 5, |line| {
        let opening = peek(line);
        let own = opening.is("/message/role", "toolResult")
            || opening.has("/message/usage/cacheRead")
            || opening.has("/message/stopReason");
        match opening.is("/type", "session") && opening.has("/id") && opening.has("/cwd") {
            true => 100,
            false if own && opening.is("/type", "message") => 85,
            false => 0,
        }
    })
}
