//! What fits a recording: the policies that are tried, and how well each does.

use super::drops::Drop;
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

/// What the usage of a session allows to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    /// Usage of single calls.
    PerCall,
    /// One total; says something only beside other sessions of the same model.
    Total,
    /// Nothing, or too little.
    #[default]
    Nothing,
}

/// A candidate with how far it is off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The policy.
    pub policy: Policy,
    /// Mean absolute relative error over the calls.
    pub error: f64,
    /// The tokenizer factor it needed.
    pub kappa: f64,
}

/// What a recorder did to its context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecorderPolicy {
    /// The policy; `None` when no candidate fits.
    pub policy: Option<Policy>,
    /// What that rests on.
    pub basis: Basis,
    /// Calls with recorded input.
    pub calls: usize,
    /// Sending everything, and the candidates that differ from it in at least ten calls, in order of
    /// [`Policy`]; empty without usage of single calls.
    pub candidates: Vec<Candidate>,
    /// The recorded total and what each candidate predicts, where only a total was recorded.
    pub total: Option<Total>,
    /// Compactions that the recording marks.
    pub marked: usize,
    /// Drops of the input that look like compactions and are not marked.
    pub unmarked: Vec<Drop>,
}

impl RecorderPolicy {
    /// Error of a candidate.
    pub fn error(&self, policy: Policy) -> Option<f64> {
        let mut found = self.candidates.iter();
        found.find(|candidate| candidate.policy == policy).map(|candidate| candidate.error)
    }

    /// One sentence for a person.
    pub fn sentence(&self) -> String {
        let percent = |error: f64| format!("{:.1}%", error * 100.0);
        let mut out = match (self.policy, self.basis) {
            (Some(Policy::Full), _) => format!(
                "The recorder sent its full history{} ({} off on average over {} calls).",
                if self.marked > 0 { " between its compactions" } else { "" },
                self.error(Policy::Full).map_or_else(String::new, percent),
                self.calls
            ),
            (Some(policy), _) => format!(
                "The recorder seems to have sent {policy}: {} off, the full history {}.",
                self.error(policy).map_or_else(String::new, percent),
                self.error(Policy::Full).map_or_else(String::new, percent),
            ),
            (None, Basis::PerCall) => format!(
                "The recorder's policy is unknown: the full history is {} off its usage, and nothing fits within {}.",
                self.error(Policy::Full).map_or_else(String::new, percent),
                percent(FITS),
            ),
            (None, Basis::Total) => {
                "Only a total was recorded: the recorder's policy can be derived only from several sessions of a model."
                    .to_owned()
            }
            (None, Basis::Nothing) => {
                "Too little usage was recorded to determine the recorder's policy.".to_owned()
            }
        };
        if let Some(first) = self.unmarked.first() {
            out.push_str(&format!(
                " Its input drops as if compacted {} without a mark, first at call {}.",
                match self.unmarked.len() {
                    1 => "once".to_owned(),
                    times => format!("{times} times"),
                },
                first.call
            ));
        }
        out
    }
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

/// The recorded total of a session beside what each candidate predicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Total {
    /// Input tokens of all calls, as recorded.
    pub sent: u64,
    /// What each candidate predicts, by the measuring estimator.
    pub predicted: Vec<(Policy, u64)>,
}
