//! The integration tests of the presets. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod approximate;
mod clip;
mod cuts;
mod defaults;
mod laws;
