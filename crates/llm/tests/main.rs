//! The integration tests of the summarizers and of the client of models. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cassette;
mod client;
mod client_keys;
mod client_watch;
mod summarizer;
mod support;
