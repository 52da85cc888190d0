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

pub(crate) const FORMAT: Format =
    Format::new("roo-code", "Roo Code and Cline: api_conversation_history.json", SIGNS, read::read)
        .written(write::patch, write::generate)
        .sent_to(Dialect::Anthropic);

const SIGNS: &[Sign] = &[Sign::new(
    90,
    &[
        Only("/*/role", &["user", "assistant"]),
        Any(&[Has("/*/ts"), Has("/*/isSummary"), Has("/*/condenseParent"), Has("/*/condenseId")]),
        Has("/*/content"),
    ],
)];
