//! The agent of the example, tested against a provider that is a stand-in. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod failures;
mod presets;
mod retry;
mod support;
mod ten_lines;
mod tools;
