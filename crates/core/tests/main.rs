//! The integration tests of the core. One binary: every other one would link all of this again.

mod config;
mod counts;
mod folds;
mod guards;
mod support;
