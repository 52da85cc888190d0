//! The integration tests of the window strategy. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod conformance;
mod invariants;
mod presets;
