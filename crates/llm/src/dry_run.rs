//! Counts what would be asked, and asks nothing.

use crate::budget::{Price, estimated_input};
use async_trait::async_trait;
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, ErrorKind, Model, ProviderError,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What would be asked of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of requests.
    pub requests: u64,
    /// Their input tokens, as far as they can be estimated.
    pub input: u64,
    /// The most tokens that they could generate.
    pub output_at_most: u64,
}

impl Tally {
    /// The most that they could cost, in US dollars.
    pub fn at_most(&self, price: &Price) -> f64 {
        price.at_most(self.input, self.output_at_most)
    }
}

/// Input tokens of a request.
type Estimate = Arc<dyn Fn(&CompletionRequest) -> u64 + Send + Sync>;

/// Answers every request with an error of kind [`ErrorKind::DryRun`] and keeps count.
///
/// The count is an estimate of a real run and no bound: a summary that comes out otherwise than its
/// stand-in changes what is asked next, and retries are not counted. Around a dry run a
/// [`Cassette`](crate::cassette::Cassette) keeps what is recorded already out of the count.
#[derive(Clone)]
pub struct DryRun {
    estimate: Estimate,
    tallies: Arc<Mutex<BTreeMap<(String, String), Tally>>>,
}

impl DryRun {
    /// Estimates input by [`estimated_input`].
    pub fn new() -> Self {
        Self::with_estimate(estimated_input)
    }

    /// Estimates input tokens by `estimate`.
    pub fn with_estimate(
        estimate: impl Fn(&CompletionRequest) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            estimate: Arc::new(estimate),
            tallies: Arc::default(),
        }
    }

    /// The count so far, by provider and model.
    pub fn report(&self) -> Vec<(Endpoint, Tally)> {
        let tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies
            .iter()
            .map(|((provider, model), tally)| {
                let endpoint = Endpoint {
                    provider: provider.clone(),
                    model: model.clone(),
                    ..Endpoint::default()
                };
                (endpoint, *tally)
            })
            .collect()
    }
}

impl Default for DryRun {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DryRun").finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for DryRun {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let endpoint = &request.endpoint;
        let name = (endpoint.provider.clone(), endpoint.model.clone());
        let input = (self.estimate)(request);
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = tallies.entry(name).or_default();
        tally.requests += 1;
        tally.input += input;
        tally.output_at_most += request.max_output;
        Err(ProviderError::new(
            ErrorKind::DryRun,
            format!("{} was not asked: this is a dry run", endpoint.model),
        ))
    }
}
