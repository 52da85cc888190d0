//! Fits the weights of the strategy `indexed` to recorded sessions.
//!
//! Examples are what folds could have kept, in replays with several windows and targets ([`examples`]). Three logistic
//! regressions are fitted one after the other, because lines are judged by the chances of their words, and blocks by
//! those of their lines ([`fit`](mod@fit)). Sessions of one repository are alike, so what is reported is measured on sessions
//! of repositories that a fit has not seen.

pub mod examples;
pub mod fit;

use examples::{Examples, Learnable, Lesson};
use fit::{HeldOut, cross_validate, fit};
use foldback_core::strategy::Strategy;
use foldback_indexed::model::Weights;
use std::fmt::Write as _;

/// Sessions below which nothing is fitted.
pub const FEWEST_SESSIONS: usize = 20;

/// Why nothing was fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// Weights of few sessions are those of their tasks.
    #[error(
        "{folded} of {sessions} sessions fill a window of {smallest} tokens, and weights need {FEWEST_SESSIONS} at least: those of fewer fit the tasks of these sessions alone; give more sessions"
    )]
    FewSessions {
        /// Sessions that were read.
        sessions: usize,
        /// Those in which something was folded.
        folded: usize,
        /// The smallest window.
        smallest: u64,
    },
    /// Nothing was used again, or everything.
    #[error("all examples of a {0} have the same label, so there is nothing to learn")]
    OneLabel(&'static str),
    /// The fit failed.
    #[error("the weights of a {0} can't be fitted: {1}")]
    Fit(&'static str, String),
}

/// One of the three regressions.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// What it is about.
    pub kind: Learnable,
    /// Its weights.
    pub weights: Weights,
    /// Examples.
    pub examples: usize,
    /// Examples that a later call used.
    pub taken: usize,
    /// On repositories that a fit has not seen; `None` where all examples are from one.
    pub held_out: Option<HeldOut>,
}

/// What was learned.
#[derive(Clone, Debug)]
pub struct Learned {
    /// Words, lines, blocks.
    pub fitted: Vec<Fitted>,
    /// Sessions in which something was folded.
    pub sessions: usize,
    /// Repositories, folders or tasks that they are of.
    pub clusters: usize,
}

/// Fits weights to lessons. `strategy` is `indexed` or a variant of it; its filter is replaced.
///
/// # Errors
///
/// [`LearnError`].
pub fn learn(lessons: &[Lesson], strategy: &Strategy) -> Result<Learned, LearnError> {
    let mut weights = [Weights::default(), Weights::default(), Weights::default()];
    let mut fitted = Vec::new();
    let (mut folded, mut clusters) = (0, 0);
    for (at, kind) in Learnable::ALL.into_iter().enumerate() {
        let examples = Examples::of(lessons, strategy, &weights, kind);
        if at == 0 {
            (folded, clusters) = (examples.sessions, examples.clusters());
            if folded < FEWEST_SESSIONS {
                let smallest = examples::WINDOWS[0];
                return Err(LearnError::FewSessions { sessions: lessons.len(), folded, smallest });
            }
        }
        weights[at] = fit(&examples)?;
        fitted.push(Fitted {
            kind,
            weights: weights[at].clone(),
            examples: examples.len(),
            taken: examples.taken(),
            held_out: cross_validate(&examples)?,
        });
    }
    Ok(Learned { fitted, sessions: folded, clusters })
}

impl Learned {
    /// A strategy file: the preset `indexed` with these weights.
    pub fn toml(&self, name: &str) -> String {
        let mut out = format!(
            "schema = \"foldback/strategy/1\"\nname = \"{name}\"\nextends = \"indexed\"\ndescription = \"`indexed` with weights fitted to {} sessions of {} repositories or tasks\"\n",
            self.sessions, self.clusters
        );
        for fitted in &self.fitted {
            let _ = writeln!(out, "\n[filter.{}]", fitted.kind.name());
            for name in fitted.kind.features() {
                if let Some(weight) = fitted.weights.get(*name) {
                    let _ = writeln!(out, "{name} = {weight:.2}");
                }
            }
        }
        out
    }
}
