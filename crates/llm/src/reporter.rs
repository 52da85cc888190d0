//! Reports the start and the end of every request while it runs: a model may take minutes, and nothing else happens
//! meanwhile.

use crate::cassette::entry;
use async_trait::async_trait;
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A request that went out, or its end.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestReport<'a> {
    /// Number of the request, from 1. A retry keeps the number of its request.
    pub number: u64,
    /// Number of the attempt, from 1.
    pub attempt: u64,
    /// The request.
    pub request: &'a CompletionRequest,
    /// The result; `None` when the request goes out.
    pub answer: Option<&'a Result<Completion, ProviderError>>,
}

impl fmt::Display for RequestReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, attempt, request, answer } = self;
        let model = &request.endpoint.model;
        write!(f, "{model}, request {number}")?;
        if *attempt > 1 {
            write!(f, ", attempt {attempt}")?;
        }
        match answer {
            None => write!(
                f,
                ": asking, {} bytes, at most {} s",
                request.bytes(),
                request.timeout.as_secs()
            ),
            Some(Err(error)) => write!(f, ": {error}"),
            Some(Ok(Completion { usage: None, .. })) => write!(f, ": answered"),
            Some(Ok(Completion { usage: Some(usage), .. })) => write!(
                f,
                ": answered, {} input and {} output tokens",
                usage.input_total(),
                usage.output_total()
            ),
        }
    }
}

type Report = dyn Fn(&RequestReport<'_>) + Send + Sync;

/// A model whose requests are reported.
pub struct Reporter {
    model: Arc<dyn Model>,
    report: Box<Report>,
    /// Number and attempts so far of each request, by its name.
    asked: Mutex<BTreeMap<String, (u64, u64)>>,
}

impl Reporter {
    /// Reports the requests to `model` by `report`.
    pub fn new(
        model: Arc<dyn Model>,
        report: impl Fn(&RequestReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self { model, report: Box::new(report), asked: Mutex::default() }
    }

    fn count(&self, request: &CompletionRequest) -> (u64, u64) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let next = asked.len() as u64 + 1;
        let (number, attempt) = asked.entry(entry::name(request)).or_insert((next, 0));
        *attempt += 1;
        (*number, *attempt)
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A running request. If it is dropped, the request was given up.
struct RunningRequest<'g> {
    reporter: &'g Reporter,
    number: u64,
    attempt: u64,
    request: &'g CompletionRequest,
    ended: bool,
}

impl RunningRequest<'_> {
    fn report(&self, answer: Option<&Result<Completion, ProviderError>>) {
        let Self { reporter, number, attempt, request, .. } = *self;
        (reporter.report)(&RequestReport { number, attempt, request, answer });
    }
}

impl Drop for RunningRequest<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let given_up = ProviderError::new(ErrorKind::Timeout, "given up, no answer in time");
            self.report(Some(&Err(given_up)));
        }
    }
}

#[async_trait]
impl Model for Reporter {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let (number, attempt) = self.count(request);
        let mut running = RunningRequest { reporter: self, number, attempt, request, ended: false };
        running.report(None);
        let answer = self.model.complete(request).await;
        running.ended = true;
        running.report(Some(&answer));
        answer
    }
}
