//! Which text replaces a group?

use super::Estimator;
use crate::log::{Message, Usage};
use crate::provider::{Asks, ProviderError};
use crate::services::Services;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// A summary that a filter needs.
#[derive(Clone, Debug)]
pub struct SummaryRequest {
    /// Names the summary within its fold, e.g. `checkpoint`, `tier-2`.
    pub name: String,
    /// Names the kind of summary, e.g. `opencode.checkpoint`; a summarizer may word its request by it.
    pub style: String,
    /// What is to be summarized, in order: the originals, or what the view showed, edits for this
    /// request alone (cut outputs, stripped media) already made.
    pub messages: Vec<Arc<Message>>,
    /// The earlier summary of its beginning, if there is one.
    pub previous: Option<String>,
    /// Instructions of a person or a hook, in order.
    pub instructions: Vec<String>,
    /// Largest acceptable size in tokens by `estimator`; a longer summary is refused.
    pub budget: u64,
    /// What `budget` is counted in.
    pub estimator: Arc<dyn Estimator>,
    /// A text that exists already, so that no summary is requested.
    pub ready: Option<Summary>,
}

/// A summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The text.
    pub text: String,
    /// Its size by the request's estimator.
    pub tokens: u64,
    /// Id of the summarizer, or of its stand-in.
    pub by: String,
    /// What the request for it cost, where a model was called.
    pub usage: Option<Usage>,
    /// What it lacks of the requested form, as a sentence, if it is used anyway.
    pub lacks: Option<String>,
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// Nothing, or only white space, came back.
    #[error("the summary is empty")]
    Empty,
    /// The summary is longer than its budget.
    #[error("the summary has {tokens} tokens, over its budget of {budget}")]
    TooLong {
        /// Its size.
        tokens: u64,
        /// The budget.
        budget: u64,
    },
    /// There is nothing to summarize with.
    #[error("{0}")]
    Unavailable(String),
    /// The summarizer failed.
    #[error("{0}")]
    Failed(String),
    /// The model that was to write it did not answer.
    #[error("{0}")]
    Provider(#[from] ProviderError),
}

/// The value of [`Summary::by`] if a dry run stood in for the model.
#[doc(hidden)]
pub const DRY_RUN: &str = "dry-run";

/// Writes summaries.
///
/// Dropping the future cancels the request; an implementation must not leave anything behind that a
/// second attempt would trip over.
#[async_trait]
pub trait Summarizer: Send + Sync + fmt::Debug {
    /// Names the summarizer and everything that its text depends on, e.g. `extractive`.
    fn id(&self) -> &str;

    /// The models that it asks through [`Services::model`]; none by default. A summarizer that asks a model lists it here, and one
    /// that wraps another passes on its list. The command provides a model to those that do, with recorded
    /// answers, a budget and dry runs; to the others it provides none.
    fn asks(&self) -> Vec<Asks> {
        Vec::new()
    }

    /// Text that replaces `request.messages`. `services` holds the model to ask, for summarizers that
    /// [ask](Self::asks) one, and the observers of their progress.
    ///
    /// # Errors
    ///
    /// There is no usable text. What the model refuses is passed on as [`SummaryError::Provider`].
    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError>;
}

/// A summarizer whose empty and over-long summaries are errors.
#[derive(Debug)]
pub(crate) struct Checked(pub(crate) Arc<dyn Summarizer>);

#[async_trait]
impl Summarizer for Checked {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn asks(&self) -> Vec<Asks> {
        self.0.asks()
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        let summary = self.0.summarize(request, services).await?;
        let (tokens, budget) = (summary.tokens, request.budget);
        if summary.text.trim().is_empty() {
            Err(SummaryError::Empty)
        } else if tokens > budget {
            Err(SummaryError::TooLong { tokens, budget })
        } else {
            Ok(summary)
        }
    }
}
