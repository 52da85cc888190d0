//! Counts the requests that would be sent, and sends none.

use crate::budget::estimated_input;
use crate::cassette::entry;
use async_trait::async_trait;
use foldback_core::log::Price;
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, ErrorKind, Model, ProviderError,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The requests that one model would get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of requests, equal ones counted once.
    pub requests: u64,
    /// Their estimated input tokens.
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

/// Requests by the name that a cassette gives them: equal ones are recorded, and so asked, once.
type Requests = BTreeMap<String, Request>;

#[derive(Clone, Debug)]
struct Request {
    provider: String,
    model: String,
    input: u64,
    output: u64,
}

/// Answers every request with an error of kind [`ErrorKind::DryRun`] and keeps count.
///
/// The count is an estimate of a real run, not a bound: a summary that differs from its stand-in changes the next
/// request, and retries are not counted. A [`Cassette`](crate::cassette::Cassette) around a dry run keeps recorded
/// requests out of the count.
#[derive(Clone)]
pub struct DryRun {
    estimate: Estimate,
    asked: Arc<Mutex<Requests>>,
}

impl DryRun {
    /// Estimates the input of a request by its bytes.
    pub fn new() -> Self {
        Self::with_estimate(estimated_input)
    }

    /// Estimates input tokens by `estimate`.
    pub fn with_estimate(
        estimate: impl Fn(&CompletionRequest) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { estimate: Arc::new(estimate), asked: Arc::default() }
    }

    /// The count so far, by provider and model.
    pub fn report(&self) -> Vec<(Endpoint, Tally)> {
        Self::together([self])
    }

    /// The count of several runs that will share one cassette: a common request is counted once.
    pub fn together<'a>(runs: impl IntoIterator<Item = &'a Self>) -> Vec<(Endpoint, Tally)> {
        let mut asked = Requests::new();
        for run in runs {
            asked.extend(run.asked().clone());
        }
        let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
        for request in asked.into_values() {
            let tally = tallies.entry((request.provider, request.model)).or_default();
            tally.requests += 1;
            tally.input += request.input;
            tally.output_at_most += request.output;
        }
        let endpoint = |(provider, model)| Endpoint { provider, model, ..Endpoint::default() };
        tallies.into_iter().map(|(name, tally)| (endpoint(name), tally)).collect()
    }

    fn asked(&self) -> MutexGuard<'_, Requests> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
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
        let counted = Request {
            provider: endpoint.provider.clone(),
            model: endpoint.model.clone(),
            input: (self.estimate)(request),
            output: request.max_output,
        };
        self.asked().insert(entry::name(request), counted);
        Err(ProviderError::new(
            ErrorKind::DryRun,
            format!("{} was not asked: this is a dry run", endpoint.model),
        ))
    }
}
