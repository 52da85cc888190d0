//! `swe-agent`: the `.traj` files of SWE-agent, 0.x and 1.x.
//!
//! A trajectory holds the run several times over: `history` is what was said, `trajectory` the steps
//! with action and observation, and in 1.x each step repeats the whole prompt, masked by whatever
//! history processor ran. Messages come from `history`, which is complete; where a file lacks it, from
//! the steps. The page `docs/swe-agent.md` says how text actions become calls.

mod read;
mod write;

use crate::prelude::*;
use foldback_core::validity::Dialect;

pub(crate) const FORMAT: Format =
    Format::new("swe-agent", "SWE-agent trajectory (.traj)", detect, read::read)
        .written(write::patch, write::generate)
        .sent_to(Dialect::OpenAiChat);

fn detect(_: &str, opening: &Peek) -> u8 {
    let steps = opening.has("/trajectory/*/action") && opening.has("/trajectory/*/observation");
    let history = opening.has("/history/*/role") && opening.has("/history/*/agent");
    match (steps, history) {
        (true, true) => 100,
        (true, false) | (false, true) => 90,
        (false, false) => 0,
    }
}
