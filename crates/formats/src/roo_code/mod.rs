//! `roo-code`: the `api_conversation_history.json` of Roo Code, Cline and related agents.
//!
//! Messages as Anthropic's API takes them, each with its time. Before tools were called natively, the
//! model wrote a call as XML tags in its text and the harness answered in the user's name, which is
//! read as call and result ([`tags`]). What a condensation replaced either is marked or is gone.
//! `docs/roo-code.md` has the mapping.

mod read;
mod tags;
mod write;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "roo-code",
    "Roo Code and Cline: api_conversation_history.json",
    detect,
    read::read,
)
.written(write::patch, write::generate)
.sent_to(Dialect::Anthropic);

fn detect(_: &str, opening: &Peek) -> u8 {
    let roles = opening.values("/*/role").collect::<Vec<_>>();
    let two_roles = !roles.is_empty() && roles.iter().all(|r| matches!(*r, "user" | "assistant"));
    let own = ["ts", "isSummary", "condenseParent", "condenseId"]
        .iter()
        .any(|member| opening.has(&format!("/*/{member}")));
    if two_roles && own && opening.has("/*/content") { 90 } else { 0 }
}
