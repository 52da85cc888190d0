//! The integration tests of the stages. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod calibrated;
mod estimator_vectors;
mod extractive;
mod pruning;
mod registry;
