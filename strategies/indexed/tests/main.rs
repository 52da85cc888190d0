//! The integration tests of the strategy. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod examples;
mod folds;
mod laws;
mod note;
mod text;
