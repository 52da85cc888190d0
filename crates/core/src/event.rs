//! The events that observers receive.

use crate::log::EntryKind;
use crate::moment::{Moment, Trigger};
use crate::outcome::Outcome;
use serde::Serialize;
use std::sync::Arc;

/// Why a model goes on with another context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StartSource {
    /// A fold moved messages out of the view.
    Compact,
    /// The last fold was taken back.
    Undo,
}

/// What a summary is waiting for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
#[non_exhaustive]
pub enum ProgressStep {
    /// A model is asked.
    Asking {
        /// What is sent, e.g. `whole`, `cleared`, `chunk 2 of 5`.
        what: String,
        /// Bytes of the request.
        bytes: usize,
    },
    /// The model did not answer and is asked again.
    Retrying {
        /// Number of the attempt that comes, from 2.
        attempt: u32,
        /// Milliseconds until then.
        wait: u64,
        /// Why the last one failed.
        why: String,
    },
    /// The request was too large, or the answer not usable; something less is tried.
    SteppingDown {
        /// What comes next.
        to: String,
        /// Why.
        why: String,
    },
}

/// Something that a conversation did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum Event {
    /// A compaction is about to run.
    PreCompact {
        /// When.
        moment: Moment,
        /// Who asked.
        trigger: Trigger,
        /// Tokens of the view.
        tokens: u64,
        /// Estimator of the tokens.
        estimator: Arc<str>,
    },
    /// A fold was committed that moved messages out of the view: the boundary between what the model
    /// saw before and after.
    Boundary {
        /// Who asked.
        trigger: Trigger,
        /// Tokens of the view before.
        tokens_before: u64,
        /// Tokens of the view after.
        tokens_after: u64,
        /// Estimator of the tokens.
        estimator: Arc<str>,
    },
    /// The model goes on with another context than before.
    SessionStart {
        /// Why.
        source: StartSource,
    },
    /// Progress of a stage that takes a while.
    Progress {
        /// The stage.
        stage: String,
        /// Name of the summary, e.g. `checkpoint`.
        name: String,
        /// What.
        step: ProgressStep,
    },
    /// Automatic compaction is paused, because it had no effect, or resumed.
    Breaker {
        /// Whether it is held back from now on.
        open: bool,
        /// Compactions in a row that had no effect.
        fruitless: u32,
    },
    /// A hook ended with an error, which changes nothing else.
    HookFailed {
        /// What it said.
        error: String,
    },
    /// A message was written into the history.
    Entry {
        /// Which kind.
        kind: EntryKind,
        /// Its id.
        id: String,
    },
    /// A stage ended.
    Outcome {
        /// When.
        moment: Moment,
        /// The stage.
        stage: String,
        /// How it ended.
        outcome: Outcome,
        /// Tokens of the view before.
        tokens_before: u64,
        /// Tokens of the view after.
        tokens_after: u64,
        /// Tokens that edits took off the view, net of placeholders.
        reclaimed: u64,
        /// Estimator of the tokens.
        estimator: Arc<str>,
    },
}

impl Event {
    /// `tokens after / tokens before` of an event that has both.
    #[doc(hidden)]
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Self::Boundary { tokens_before, tokens_after, .. }
            | Self::Outcome { tokens_before, tokens_after, .. }
                if *tokens_before > 0 =>
            {
                Some(*tokens_after as f64 / *tokens_before as f64)
            }
            _ => None,
        }
    }
}
