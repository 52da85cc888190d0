//! A trial: which strategy a conversation gets, and its line in the file of the trial.

pub(crate) mod arms;
mod file;
pub(crate) mod log;
mod tally;
pub(crate) mod unit;

pub use foldback_live::trial::record::TrialArm;

use std::path::PathBuf;

/// A trial as it was asked for.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The seed of the assignment.
    pub seed: u64,
    /// The file.
    pub file: PathBuf,
    /// Whether an arm that does harm gets no new units.
    pub guard: bool,
    /// The arms.
    pub arms: Vec<TrialArm>,
}
