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
    Format::new("pi", "pi session (JSON lines of ~/.pi/agent/sessions)", SIGNS, read::read)
        .written(write::patch, write::generate)
        .sent_to(Dialect::OpenAiChat);

/// The header is the first line of every file; a file cut off at the front still has entries, of which any may
/// be all that a compaction leaves.
const SIGNS: &[Sign] = &[
    Sign::new(100, &[Is("/type", &["session"]), Has("/id"), Has("/cwd")]).lines(5),
    Sign::new(
        85,
        &[
            Is("/type", &["message"]),
            Any(&[
                Is("/message/role", &["toolResult"]),
                Has("/message/usage/cacheRead"),
                Has("/message/stopReason"),
            ]),
        ],
    )
    .lines(5),
    Sign::new(
        85,
        &[Is("/type", &["compaction"]), Has("/summary"), Has("/tokensBefore"), Has("/timestamp")],
    )
    .lines(5),
    Sign::new(
        85,
        &[Is("/type", &["branch_summary"]), Has("/summary"), Has("/parentId"), Has("/timestamp")],
    )
    .lines(5),
    Sign::new(60, &[Is("/type", &["message"]), Has("/message/role"), Has("/timestamp")]).lines(5),
    Sign::new(
        60,
        &[Is("/type", &["model_change"]), Has("/provider"), Has("/modelId"), Has("/timestamp")],
    )
    .lines(5),
    Sign::new(
        60,
        &[Is("/type", &["thinking_level_change"]), Has("/thinkingLevel"), Has("/timestamp")],
    )
    .lines(5),
];
