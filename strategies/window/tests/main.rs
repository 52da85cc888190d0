//! The integration tests of the window strategy. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod budget;
mod compact;
mod coverage;
mod estimate;
mod invariants;
mod presets;
mod prune;
mod split;
mod support;
