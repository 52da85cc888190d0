//! The integration tests of the tiered strategy. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod config;
mod conformance;
mod conversation;
mod properties;
mod recorded;
mod segments;
mod support;
mod truncation;
