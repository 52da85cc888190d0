//! Errors of requests and answers.

use crate::errors::Classifier;
use crate::wire::shared::messages::{Problem, wrong};
use crate::wire::shared::raw::RawError;
use crate::wire::shared::rewrite::Stale;
use foldback_core::provider::{ErrorKind, ProviderError};
use serde_json::Value;
use thiserror::Error;

/// A request or an answer that can't be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The text is not JSON.
    #[error("not JSON at line {line}, column {column}: {detail}")]
    Json {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        detail: String,
    },
    /// The JSON violates the protocol.
    #[error("{pointer}: {detail}")]
    Shape {
        /// The place, as a JSON pointer.
        pointer: String,
        /// What is wrong.
        detail: String,
    },
    /// The provider keeps part of the conversation. Content that is not in the request can be neither counted nor folded.
    #[error(
        "{pointer}: part of the conversation is kept by the provider; send all of it to have it folded"
    )]
    Elsewhere {
        /// The place of the reference, as a JSON pointer.
        pointer: String,
    },
    /// The provider answered with an error; [`provider_error`](Self::provider_error) says what it means.
    #[error("the provider answered with an error: {body}")]
    Refused {
        /// The error as it came.
        body: Value,
    },
    /// The provider blocked the request.
    #[error("the provider blocked the request: {reason}")]
    Blocked {
        /// The provider's word.
        reason: String,
    },
    /// A stream ended before the answer did.
    #[error("the stream broke off before the end of the answer")]
    Unfinished,
    /// A stream is larger than an answer may be.
    #[error("the answer has more than {most} bytes")]
    TooLong {
        /// The limit.
        most: usize,
    },
    /// A message of a view claims to come from this request, and its record does not match.
    #[error(transparent)]
    Stale(#[from] Stale),
}

impl WireError {
    /// The meaning of the error for an agent: whether the request was too large, can be sent again later, or neither.
    /// `provider` is the provider that answered, if known: `anthropic`, `openai`, `gemini`.
    pub fn provider_error(&self, classifier: &Classifier, provider: Option<&str>) -> ProviderError {
        let kind = match self {
            Self::Refused { body } => {
                return classifier.classify(provider, None, &body.to_string());
            }
            Self::Blocked { .. } => ErrorKind::ContentRefused,
            Self::Unfinished => ErrorKind::Transport,
            Self::Json { .. } | Self::Shape { .. } | Self::TooLong { .. } => ErrorKind::Decode,
            Self::Elsewhere { .. } | Self::Stale(_) => ErrorKind::InvalidRequest,
        };
        ProviderError::new(kind, self.to_string())
    }

    pub(crate) fn shape(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Shape { pointer: pointer.into(), detail: detail.into() }
    }

    pub(crate) fn no_answer(pointer: &str) -> Self {
        Self::shape(
            pointer,
            "every answer of this protocol has something here; is the address right?",
        )
    }
}

impl From<serde_json::Error> for WireError {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        Self::Json { line, column, detail: error.to_string() }
    }
}

impl From<RawError> for WireError {
    fn from(error: RawError) -> Self {
        match error {
            RawError::Missing { pointer } => Self::shape(pointer, "nothing is there"),
            RawError::Syntax { .. } => Self::shape("", error.to_string()),
        }
    }
}

impl From<Problem> for WireError {
    fn from(problem: Problem) -> Self {
        Self::Shape { detail: wrong(&problem.detail).to_owned(), pointer: problem.pointer }
    }
}
