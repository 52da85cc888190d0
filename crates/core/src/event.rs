//! What observers are told.

use crate::log::EntryKind;
use crate::moment::{Moment, Trigger};
use crate::outcome::Outcome;
use serde::Serialize;
use std::sync::Arc;

/// Something that a conversation did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum Event {
    /// A compaction is about to run.
    Before {
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
    /// A message was written into the history.
    Entry {
        /// Which kind.
        kind: EntryKind,
        /// Its id.
        id: String,
    },
    /// A stage ended.
    After {
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
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Self::Boundary {
                tokens_before,
                tokens_after,
                ..
            }
            | Self::After {
                tokens_before,
                tokens_after,
                ..
            } if *tokens_before > 0 => Some(*tokens_after as f64 / *tokens_before as f64),
            _ => None,
        }
    }
}
