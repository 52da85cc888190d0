//! One request to a model: text in, text and usage out. A summarizer needs no more.

use super::ProviderError;
use crate::log::{Finish, Role, Usage};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Which model answers, and where it is to be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// Protocol: `anthropic`, `openai`, `gemini`, …; which names there are is up to the client.
    pub provider: String,
    /// Model id as the provider spells it.
    pub model: String,
    /// Where the protocol is spoken, where that is not the provider's own address. Ends where the
    /// paths of the protocol begin, e.g. `http://localhost:11434/v1/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name of the variable that holds the key; never the key itself. `None` for the provider's usual
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_variable: Option<String>,
}

/// What a stage asks of [`Services::model`](crate::services::Services::model).
///
/// Whoever runs a strategy provides the model by this: it looks for a key and a price before anything is sent, records
/// answers, keeps the budget, and says what is sent to whom.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Asks {
    /// Who is asked.
    pub endpoint: Endpoint,
    /// What it may cost in US dollars, where the stage's own settings say so.
    pub budget_usd: Option<f64>,
    /// Whether secrets in known forms are left out of what is sent.
    pub scrubs: bool,
}

impl Asks {
    /// Requests to an endpoint, with no limit of their own and texts sent as they are.
    #[doc(hidden)]
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, budget_usd: None, scrubs: false }
    }

    /// These requests with a limit in US dollars.
    #[must_use]
    #[doc(hidden)]
    pub fn budget_usd(mut self, most: Option<f64>) -> Self {
        self.budget_usd = most;
        self
    }

    /// These requests, with or without secrets in the texts that are sent.
    #[must_use]
    #[doc(hidden)]
    pub fn scrubs(mut self, scrubs: bool) -> Self {
        self.scrubs = scrubs;
        self
    }
}

/// A text and who says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Turn {
    /// Who: [`Role::User`] or [`Role::Assistant`].
    pub role: Role,
    /// What.
    pub text: String,
}

/// What a model is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// Who answers.
    pub endpoint: Endpoint,
    /// Instructions.
    pub system: String,
    /// The conversation with the model; the last turn is the user's.
    pub turns: Vec<Turn>,
    /// Sampling temperature; the provider's default where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens the model may generate.
    pub max_output: u64,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Number of the sample, for answers that are drawn more than once from the same request.
    pub replicate: u32,
}

impl CompletionRequest {
    /// Bytes of all texts: what a provider's body limit is compared with.
    #[doc(hidden)]
    pub fn bytes(&self) -> usize {
        let turns = self.turns.iter().map(|turn| turn.text.len());
        self.system.len() + turns.sum::<usize>()
    }
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The text; empty where the model only reasoned or called tools.
    pub text: String,
    /// Why it stopped.
    pub finish: Finish,
    /// What the request cost in tokens, where the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that answered, where the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Sends requests to models. Clients, recordings, budgets and dry runs are all this, one around the
/// other.
///
/// Dropping the future cancels the request.
#[async_trait]
pub trait Model: Send + Sync + fmt::Debug {
    /// Asks once. Retries are the caller's business.
    ///
    /// # Errors
    ///
    /// The provider refused the request, or could not be reached.
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError>;
}
