//! `mini-swe-agent`: the `.traj.json` files of mini-swe-agent, v1 and v2.
//!
//! The messages are those of a chat API with an `extra` member that holds the raw response. In v2
//! tools are called; in v1 the model writes one command in a fenced block and the harness answers in
//! the user's name, which is read as call and result. A file is a document, or only its list of
//! messages. The page `docs/mini-swe-agent.md` lists what is mapped to what.

mod message;
mod read;
mod write;

use crate::prelude::*;
use foldback_core::validity::Dialect;

pub(crate) const FORMAT: Format =
    Format::new("mini-swe-agent", "mini-swe-agent trajectory (.traj.json)", detect, read::read)
        .written(write::patch, write::generate)
        .sent_to(Dialect::OpenAiChat);

fn detect(_: &str, opening: &Peek) -> u8 {
    let named =
        opening.values("/trajectory_format").any(|format| format.starts_with("mini-swe-agent"));
    if named || opening.has("/info/mini_version") {
        return 100;
    }
    let extra = |list: &str| {
        opening.has(&format!("{list}/*/role"))
            && ["response", "actions", "cost"]
                .iter()
                .any(|member| opening.has(&format!("{list}/*/extra/{member}")))
    };
    if opening.has("/info/model_stats") && opening.has("/messages/*/role") {
        95
    } else if extra("/messages") {
        80
    } else if extra("") {
        75
    } else {
        0
    }
}
