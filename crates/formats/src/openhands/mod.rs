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
    SIGNS,
    read::read,
);

/// Where a list of events is kept.
const LISTS: &[&str] = &["/history", "/trajectory", "/events", "/items"];

/// What only an event has.
const EVENT: Member = Any(&[
    Is("/kind", v1::KINDS),
    All(&[
        Any(&[Has("/action"), Has("/observation")]),
        Has("/timestamp"),
        Any(&[Has("/args"), Has("/extras")]),
    ]),
]);

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Has("/source"), EVENT]).below(&[
        "",
        "/*",
        "/history/*",
        "/history/*/*",
        "/trajectory/*",
        "/trajectory/*/*",
        "/events/*",
        "/events/*/*",
        "/items/*",
        "/items/*/*",
    ]),
    // An instance whose description fills the opening.
    Sign::new(80, &[Has("/instance_id"), Has("/history"), Has("/metadata/agent_class")]),
];
