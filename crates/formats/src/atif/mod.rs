//! `atif`: the Agent Trajectory Interchange Format of Harbor (RFC 0001), versions 1.4 to 1.7, one JSON
//! document `{schema_version, agent, steps: […]}`.
//!
//! A step is one turn of user, harness or agent, with the results of the agent's tools in it; a record is
//! a step. A compaction is a system step with `extra.context_management`, and the steps before it stay:
//! the file is a log, not what is sent. Writing preserves this (`write`): what a strategy folded is in
//! further system steps. Embedded trajectories of subagents are sessions of their own.
//! `docs/atif.md` has the mapping.

mod generate;
mod read;
mod restore;
mod step;
mod write;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format {
    log: true,
    ..Format::new(
        "atif",
        "ATIF: agent trajectories as Harbor and others exchange them, versions 1.4 to 1.7",
        SIGNS,
        read::read,
    )
    .written(write::patch, write::generate)
};

/// The version that is written.
const VERSION: &str = "ATIF-v1.7";
/// The value of `context_management.boundary` for edits that leave every step where it is. ATIF lets
/// producers add values of their own.
const IN_PLACE: &str = "in-place";

const SIGNS: &[Sign] = &[
    Sign::new(99, &[Begins("/schema_version", &["ATIF"])]),
    Sign::new(
        92,
        &[
            Has("/steps/*/source"),
            Has("/steps/*/message"),
            Any(&[Has("/schema_version"), Has("/steps/*/step_id")]),
        ],
    ),
];
