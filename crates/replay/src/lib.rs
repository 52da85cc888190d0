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
pub mod audit;
pub mod compare;
pub mod fault;
mod judge;
pub mod number;
pub mod outcomes;
pub mod parallel;
pub mod probe;
mod read;
mod rows;
mod run;
pub mod stats;
pub mod trial;
pub mod tune;

pub use compare::{Comparison, Reporting, compare, experiment::Experiment};
pub use fault::{Fault, caught};
pub use foldback_providers::prices::{Model, ModelTable, ModelTableError};
pub use judge::request::{Probe, Request};
pub use judge::{availability, cost, retention, spent};
pub use read::split::Split;
pub use read::{
    calibrate, copies, corpus, history, identifiers, images, index, recorder, repositories,
};
pub use rows::store::Store;
pub use rows::study::Run;
pub use rows::{CompareError, parts, study};
pub use run::drive::{Replay, ReplayOptions, replay, replay_with};
pub use run::{controls, setup, state, totals, walk};

pub use read::corpus::{Corpus, Source};
pub use run::setup::{Preset, Setup};
pub use run::totals::{CallRow, SessionMetrics};

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
