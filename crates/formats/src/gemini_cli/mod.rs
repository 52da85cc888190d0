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
    detect,
    read::read,
);

fn detect(_: &str, opening: &Peek) -> u8 {
    let header = opening.has("/sessionId") && opening.has("/projectHash");
    let typed = |list: &str| {
        opening.is(&format!("{list}type"), "gemini")
            || (opening.is(&format!("{list}type"), "user")
                && opening.has(&format!("{list}content")))
    };
    match (header, typed("/messages/*/")) {
        (true, _) => 95,
        (false, true) if opening.has("/sessionId") => 90,
        // Lines that have lost their header.
        _ if opening.is("/type", "gemini") && opening.has("/id") => 80,
        _ => 0,
    }
}
