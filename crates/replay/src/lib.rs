//! Teacher-forced replay of recorded sessions, and the measurements made on it.
//!
//! The recorded answers and tool results are fed call by call; a strategy keeps its own compacted
//! view, and every request that it would have sent is measured. The strategy decides with its own
//! estimator; one measuring estimator, the same for every strategy, reports. A strategy never sees
//! the future: it receives messages one by one and holds nothing else.
//!
//! What a replay can't tell: whether the agent would have done the same on the smaller view. Every
//! number here is a number of the recorded run.

#[cfg(test)]
mod acted;
pub mod asked;
pub mod availability;
pub mod calibrate;
pub mod compare;
pub mod controls;
pub mod copies;
pub mod corpus;
pub mod cost;
pub mod drive;
pub mod experiment;
pub mod fault;
pub mod identifiers;
mod idle;
pub mod images;
pub mod index;
pub mod measures;
pub mod number;
pub mod parallel;
pub mod probe;
pub mod recorder;
pub mod repositories;
pub mod reread;
pub mod retention;
pub mod scale;
pub mod scores;
pub mod setup;
pub mod spent;
pub mod split;
pub mod state;
pub mod stats;
pub mod store;
pub mod study;
pub mod totals;
pub mod tune;
pub mod verbatim;
pub mod walk;

pub use compare::{CompareError, Comparison, Reporting, Run, compare};
pub use corpus::{Corpus, Source};
pub use drive::{Probe, Replay, ReplayOptions, Request, SummaryInput, replay, replay_with};
pub use experiment::Experiment;
pub use fault::{Fault, caught};
pub use foldback_providers::prices::{Model, ModelTable, ModelTableError};
pub use setup::{Preset, Setup};
pub use split::Split;
pub use store::Store;
pub use totals::{CallRow, SessionMetrics};

/// Each item once, in the order in which they come first.
pub fn in_order<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for item in items {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}
