//! `opencode`: what `opencode export` prints, one JSON document `{info, messages: [{info, parts}]}`.
//!
//! OpenCode keeps a tool call and its result in one part, several model calls in one message, and the
//! output of a cleared tool result in full under `state.time.compacted`. Reading takes these apart
//! (`read`); writing sets and removes that mark and appends compaction entries the way OpenCode
//! stores them (`write`); sessions of other formats are put into its shape (`generate`).
//! `docs/opencode.md` has the mapping.

mod context;
mod generate;
mod parts;
mod read;
mod write;

use crate::prelude::*;

/// Role of a summary, and name of the agent that writes it.
const COMPACTION: &str = "compaction";
/// What a compaction part is rendered as.
const MARKER_TEXT: &str = "What did we do so far?";
/// What a subtask part is rendered as.
const SUBTASK_TEXT: &str = "The following tool was executed by the user";
/// What a tool part that never finished is rendered as.
const INTERRUPTED: &str = "[Tool execution was interrupted]";
/// How the synthetic message begins that lets the model go on after a compaction.
const CONTINUE_TEXT: &str = "Continue if you have next steps";

pub(crate) const FORMAT: Format = Format::new(
    "opencode",
    "OpenCode: the JSON document that `opencode export` prints",
    SIGNS,
    read::read,
)
.written(write::patch, generate::generate);

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Has("/messages/*/info/role"), Has("/messages/*/parts")]),
    Sign::new(
        90,
        &[
            Begins("/info/id", &["ses"]),
            Any(&[
                Has("/info/slug"),
                Has("/info/projectID"),
                Has("/info/version"),
                Has("/info/time"),
            ]),
        ],
    ),
];
