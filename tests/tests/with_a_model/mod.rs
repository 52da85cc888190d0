//! The conformance rows that need a request to a model: OpenCode's compaction and loop, the general
//! behavior of its V2, and the window compactor of Spec 09.
//!
//! Each row compiles a preset with the `llm` summarizer, drives it through an agent's loop, and counts
//! and reads every request, the agent's and the summarizer's, that reaches one scripted model. Rows run
//! with the guards on; where the original does what a guard forbids, the row is run beneath the guard
//! and a second one says what the guard does. Where each row is tested stands in one table, [`coverage`].

mod coverage;
mod given;
mod model;
mod read;
mod row;
mod session;
mod suites;
mod texts;
