//! The integration tests of what an agent loop needs. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod agent;
mod follow;
mod journal;
mod journal_damage;
mod journal_killed;
mod recall;
mod support;
