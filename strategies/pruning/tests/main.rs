//! The integration tests of the presets. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use foldback_pruning as _;

mod laws;
mod observations;
mod pairs;
mod tool_uses;
