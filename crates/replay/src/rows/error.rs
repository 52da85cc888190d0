//! Why a comparison can't be made.

use crate::read::corpus::{Failure, Skipped};
use thiserror::Error;

/// A comparison that can't be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompareError {
    /// No preset leaves sessions as they are, so there is nothing to compare with.
    #[error("nothing to compare with: every preset has stages; add `none`")]
    NoBaseline,
    /// No file held a session. What was skipped, with the reasons.
    #[error("no session could be imported")]
    NothingImported(Vec<Skipped>),
    /// Results can't be stored, neither in the store nor in a temporary file. A comparison reads its results from there, so it
    /// would leave sessions out.
    #[error("the results of {path} can't be stored: {error}")]
    Store {
        /// Path of the session's file.
        path: String,
        /// What the system said.
        error: String,
    },
    /// A source can't be reached, nor may others be.
    #[error("{path}: {error}")]
    Unreached {
        /// Its name.
        path: String,
        /// What was said.
        error: String,
    },
    /// Warnings are errors.
    #[error("{path}: {warning}; without --strict it would be counted and the rest used")]
    Strict {
        /// Path of the session.
        path: String,
        /// The first warning.
        warning: String,
    },
}

impl Failure {
    /// Why the source of this name is skipped.
    ///
    /// # Errors
    ///
    /// The run can't go on without it.
    pub fn skips(self, path: impl FnOnce() -> String) -> Result<String, CompareError> {
        match self {
            Self::Source(reason) => Ok(reason),
            Self::Unreached(error) => Err(CompareError::Unreached { path: path(), error }),
            Self::Store(error) => Err(CompareError::Store { path: path(), error }),
        }
    }
}
