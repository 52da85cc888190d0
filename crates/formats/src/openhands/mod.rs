//! `openhands`: the event streams of OpenHands.
//!
//! Three generations and several files hold them: the trajectory of version 0 (a list of actions and
//! observations), the `output.jsonl` of the benchmarks (one instance with its `history` a line, so
//! several sessions), and the events of the SDK of version 1 (told apart by `kind`; a list, or one a
//! line). [`stream`] finds the sessions in a file, [`v0`] and [`v1`] read one event of their
//! generation, [`read`] puts them together. The format is only read: an event stores the same
//! thing up to four times. `docs/openhands.md` has the mapping.

mod read;
mod stream;
mod v0;
mod v1;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "openhands",
    "OpenHands events: trajectories, benchmark output.jsonl, SDK events",
    detect,
    read::read,
);

/// Where a list of events is kept.
const LISTS: &[&str] = &["/history", "/trajectory", "/events", "/items"];

fn detect(_: &str, opening: &Peek) -> u8 {
    let has = |list: &str, member: &str| opening.has(&format!("{list}/{member}"));
    let events = |list: &str| {
        let kinds = format!("{list}/kind");
        let mut kinds = opening.values(&kinds);
        let action = has(list, "action") || has(list, "observation");
        has(list, "source")
            && (kinds.any(|kind| v1::KINDS.contains(&kind))
                || (action && has(list, "timestamp") && (has(list, "args") || has(list, "extras"))))
    };
    if events("") || events("/*") {
        return 95;
    }
    let listed =
        LISTS.iter().any(|list| events(&format!("{list}/*")) || events(&format!("{list}/*/*")));
    let instance = opening.has("/instance_id") && opening.has("/history");
    match (listed, instance) {
        (true, _) => 95,
        // An instance whose description fills the opening.
        (false, true) if opening.has("/metadata/agent_class") => 80,
        _ => 0,
    }
}
