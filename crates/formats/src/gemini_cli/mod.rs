//! `gemini-cli`: the chat recordings that Gemini CLI keeps in `~/.gemini/tmp/<project>/chats`.
//!
//! Up to version 0.30 or so a recording is one document with a list of messages; later it is a line
//! for each change: a message (again, whenever something was added to it), `$set` with changed
//! metadata or a whole new history, `$rewindTo`. [`lines`] brings both to a list of messages,
//! [`read`] reads one; calls and their results are in the model's message. The format is only read.
//! `docs/gemini-cli.md` has the mapping.

mod lines;
pub(crate) mod read;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "gemini-cli",
    "Gemini CLI chat recording (~/.gemini/tmp/*/chats)",
    SIGNS,
    read::read,
);

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Has("/sessionId"), Has("/projectHash")]),
    Sign::new(90, &[Has("/sessionId"), Is("/messages/*/type", &["gemini"])]),
    Sign::new(
        90,
        &[Has("/sessionId"), Is("/messages/*/type", &["user"]), Has("/messages/*/content")],
    ),
    // Lines that have lost their header.
    Sign::new(80, &[Is("/type", &["gemini"]), Has("/id")]),
];
