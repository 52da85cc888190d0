//! What fits a recording: the policies that are tried, and how well each does.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest mean relative error with which a policy counts as found.
pub(super) const FITS: f64 = 0.10;

/// A context policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Policy {
    /// Everything is sent.
    Full,
    /// Everything but the reasoning of turns that have ended.
    TurnReasoning,
    /// Everything but reasoning.
    NoReasoning,
    /// Of the tool results only the last so many; a note stands for each of the others (SWE-agent's
    /// `last_n_observations`).
    LastObservations(u32),
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::TurnReasoning => f.write_str("full without the reasoning of earlier turns"),
            Self::NoReasoning => f.write_str("full without reasoning"),
            Self::LastObservations(k) => write!(f, "keep-{k}"),
        }
    }
}

/// All candidates, the simplest first.
pub(super) const CANDIDATES: [Policy; 15] = [
    Policy::Full,
    Policy::TurnReasoning,
    Policy::NoReasoning,
    Policy::LastObservations(20),
    Policy::LastObservations(15),
    Policy::LastObservations(10),
    Policy::LastObservations(9),
    Policy::LastObservations(8),
    Policy::LastObservations(7),
    Policy::LastObservations(6),
    Policy::LastObservations(5),
    Policy::LastObservations(4),
    Policy::LastObservations(3),
    Policy::LastObservations(2),
    Policy::LastObservations(1),
];

/// What a recorder did to its context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecorderPolicy {
    /// The policy; `None` when no candidate fits, or too few calls record usage.
    pub policy: Option<Policy>,
    /// The calls before which the input drops as if compacted, without a mark.
    pub unmarked: Vec<usize>,
}

/// One recorded call.
pub(super) struct Call {
    /// Number of the call.
    pub(super) number: usize,
    /// Number of the marked compactions before it.
    pub(super) stretch: usize,
    /// Recorded input; 0 where none was.
    pub(super) usage: u64,
    /// Predicted size by candidate: frame, and messages since the latest summary.
    pub(super) sizes: [u64; CANDIDATES.len()],
}
