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
        .written(write::patch, write::generate)
        .sent_to(Dialect::OpenAiChat);

/// The header is the first line of every file; a file cut off at the front still has entries, of which any may
/// be all that a compaction leaves.
fn detect(text: &str, opening: &Peek) -> u8 {
    jsonl::surest(text, opening, 5, |opening| {
        let all = |paths: &[&str]| paths.iter().all(|path| opening.has(path));
        let own = opening.is("/message/role", "toolResult")
            || opening.has("/message/usage/cacheRead")
            || opening.has("/message/stopReason");
        let mut kinds = opening.values("/type");
        match kinds.next() {
            Some("session") if all(&["/id", "/cwd"]) => 100,
            Some("message") if own => 85,
            Some("message") if all(&["/message/role", "/timestamp"]) => 60,
            Some("compaction") if all(&["/summary", "/tokensBefore", "/timestamp"]) => 85,
            Some("branch_summary") if all(&["/summary", "/parentId", "/timestamp"]) => 85,
            Some("model_change") if all(&["/provider", "/modelId", "/timestamp"]) => 60,
            Some("thinking_level_change") if all(&["/thinkingLevel", "/timestamp"]) => 60,
            _ => 0,
        }
    })
}
