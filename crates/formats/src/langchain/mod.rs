//! `langchain`: lists of LangChain messages, as constructor objects (`dumps`, `{lc, type, id, kwargs}`), as
//! dicts (`messages_to_dict`, `{type, data}`), or plain (`model_dump`, `{type: "human", content}`).
//!
//! Every message is one record. `docs/langchain.md` has the mapping.

mod message;
mod read;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "langchain",
    "LangChain: serialised messages, also within a state or one list a line",
    detect,
    read::read,
);

/// Types that no other format's messages have.
const OWN_TYPES: &[&str] = &["human", "ai", "HumanMessageChunk", "AIMessageChunk"];

fn detect(_: &str, opening: &Peek) -> u8 {
    ["", "/messages", "/values/messages", "/kwargs/messages"]
        .iter()
        .map(|list| {
            let at = |path: &str| format!("{list}/*{path}");
            let own = |path: &str| {
                let path = at(path);
                opening.values(&path).any(|kind| OWN_TYPES.contains(&kind))
            };
            if opening.has(&at("/lc")) && opening.has(&at("/kwargs/content")) {
                95
            } else if own("/type") && (opening.has(&at("/content")) || opening.has(&at("/data"))) {
                90
            } else {
                0
            }
        })
        .max()
        .unwrap_or(0)
}
