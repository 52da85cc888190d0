//! `gemini`: contents as Google's Gemini API takes them. A bare list of `{role, parts}`, a request
//! body `{contents, systemInstruction, tools}`, or one of them a line.
//!
//! Results are parts of user contents; reading gives each a message of its own with the same record.
//! The file is what is sent: writing puts the text of an edit in place of the content and leaves out
//! what is hidden. `docs/gemini.md` has the mapping.

pub(crate) mod read;
mod write;

use crate::prelude::*;
use foldback_core::validity::Dialect;

pub(crate) const FORMAT: Format = Format::new(
    "gemini",
    "Gemini API contents: request bodies and lists of contents, also one a line",
    detect,
    read::read,
)
.written(write::patch, write::generate)
.request_to(Dialect::Gemini);

/// Where a list of contents is kept.
const LISTS: &[&str] = &["/contents", "/history"];

/// What only a model of Gemini puts on a part.
const SIGNATURE: &str = "thoughtSignature";

fn detect(_: &str, opening: &Peek) -> u8 {
    let lists = ["", "/contents", "/history", "/*/contents"];
    let found = lists.iter().map(|list| {
        let roles = format!("{list}/*/role");
        let mut roles = opening.values(&roles).peekable();
        let part = |member: &str| opening.has(&format!("{list}/*/parts/*/{member}"));
        let own = part("functionCall") || part("functionResponse") || part(SIGNATURE);
        let parts = own || part("text") || part("inlineData");
        match parts && roles.peek().is_some() {
            true if own || roles.any(|role| role == "model") => 85,
            true => 60,
            false => 0,
        }
    });
    found.max().unwrap_or(0)
}
