//! `extractive`: a summary made of what was said, without a model.
//!
//! It copies and never words: user instructions (the newest whole, older ones by their telling
//! sentences), files read, created and modified, decisions, the errors that still stand, open items and
//! the current state, each under a heading and within its share of the budget. Every line is taken from
//! the messages; only headings, list marks, `(read)`, `(created)`, `(modified)` and `…` are added. The
//! same request always gives the same text, no network is needed, and the cost is linear in the input.
//!
//! From the outside in: `facts` walks the messages once and collects what may be said, with
//! `files` and `shell` reading paths out of tool calls, `errors` finding the telling lines of
//! failures, `open` what is left to do, and `previous` taking an earlier summary apart so that it is
//! merged instead of nested. `style` says which sections a kind of summary has; `compose` fits them
//! into the budget.

mod compose;
mod errors;
mod facts;
pub mod files;
mod open;
mod previous;
mod sentence;
pub mod shell;
mod style;

use async_trait::async_trait;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`Extractive`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractiveConfig {
    /// Most tokens of a summary, by the request's estimator, where the request allows more.
    pub max_tokens: u64,
}

impl Default for ExtractiveConfig {
    fn default() -> Self {
        Self { max_tokens: 4_000 }
    }
}

impl StageConfig<dyn Summarizer> for ExtractiveConfig {
    fn build(self) -> Result<Arc<dyn Summarizer>, Invalid> {
        if self.max_tokens == 0 {
            return Err(Invalid::new("max_tokens", "must be 1 or more"));
        }
        Ok(Arc::new(Extractive::new(&self)))
    }
}

/// A summary made of what was said.
#[derive(Clone, Debug)]
pub struct Extractive {
    max_tokens: u64,
    id: String,
}

impl Default for Extractive {
    fn default() -> Self {
        Self::new(&ExtractiveConfig::default())
    }
}

impl Extractive {
    /// The summarizer with these settings.
    pub fn new(config: &ExtractiveConfig) -> Self {
        let max_tokens = config.max_tokens;
        let id = if *config == ExtractiveConfig::default() {
            "extractive".to_owned()
        } else {
            format!("extractive(max {max_tokens})")
        };
        Self { max_tokens, id }
    }

    /// The summary; what [`Summarizer::summarize`] gives, without waiting.
    ///
    /// # Errors
    ///
    /// [`SummaryError::Empty`] where no message has any text, [`SummaryError::Failed`] where the budget
    /// is too small for a single word.
    pub fn summary(&self, request: &SummaryRequest) -> Result<Summary, SummaryError> {
        let facts = facts::collect(request);
        if facts.is_empty() {
            return Err(SummaryError::Empty);
        }
        let budget = request.budget.min(self.max_tokens);
        let style = style::style(&request.style);
        let text =
            compose::compose(facts, style, budget, &*request.estimator).ok_or_else(|| {
                SummaryError::Failed(format!(
                    "a budget of {budget} tokens has no room for a single word"
                ))
            })?;
        Ok(Summary {
            tokens: request.estimator.text(&text),
            text,
            by: self.id.clone(),
            usage: None,
            lacks: None,
        })
    }
}

#[async_trait]
impl Summarizer for Extractive {
    fn id(&self) -> &str {
        &self.id
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _services: &Services,
    ) -> Result<Summary, SummaryError> {
        self.summary(request)
    }
}
