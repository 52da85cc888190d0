//! Watches over requests whose failure must not go unnoticed.
//!
//! A strategy survives a summary that could not be had: it keeps its view or copies one together. In an
//! agent that is right. In a comparison it would report numbers of another strategy, so whoever compares
//! asks afterwards what was never answered. That a model was too slow is another thing: whoever runs it will meet
//! the same in an agent, so what stands in then is part of the result.

use crate::cassette::entry;
use async_trait::async_trait;
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Failures in a row after which nothing more is asked: the provider is out, or refuses whatever it is
/// asked. What is recorded by now is recorded.
const PATIENCE: u32 = 12;

/// Whether a failure will meet every other request as well: the key is wrong, the account is empty.
fn is_final(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Auth | ErrorKind::Quota)
}

/// Whether a failure came without anybody having been asked. These are counted to the end: how many
/// answers a cassette lacks is worth knowing, and costs nothing.
fn is_local(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotRecorded | ErrorKind::Budget)
}

/// Remembers which requests were never answered.
///
/// A request that fails and is answered later is forgotten. Failures that belong to the request (too
/// large, content refused) and dry runs are not failures here: a summarizer handles them, and would
/// deal with them the same way again. What was not answered in time is counted apart: with that, too, a
/// strategy goes on as it would in an agent.
#[derive(Debug)]
pub struct Watch {
    model: Arc<dyn Model>,
    state: Mutex<WatchState>,
}

#[derive(Debug, Default)]
struct WatchState {
    /// By the request's name, so that the first one does not depend on what ran when.
    unanswered: BTreeMap<String, ProviderError>,
    /// Failures of requests that were sent, since the latest answer.
    in_a_row: u32,
    /// Why nothing more is asked.
    given_up: Option<ProviderError>,
}

impl Watch {
    /// Watches over `model`.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, state: Mutex::default() }
    }

    /// The first of the requests that were never answered, and how many there are, without those that had no answer in
    /// time.
    pub fn unanswered(&self) -> Option<(ProviderError, usize)> {
        self.first(|error| error.kind != ErrorKind::Timeout)
    }

    /// The first request that had no answer in time, and the number of such requests. It includes requests that were
    /// no longer sent because too many before them had no answer.
    pub fn late(&self) -> Option<(ProviderError, usize)> {
        self.first(|error| error.kind == ErrorKind::Timeout)
    }

    fn first(&self, counts: impl Fn(&ProviderError) -> bool) -> Option<(ProviderError, usize)> {
        let state = self.state();
        let mut errors = state.unanswered.values().filter(|error| counts(error));
        let first = errors.next()?.clone();
        Some((first, 1 + errors.count()))
    }

    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request may still go out.
    fn begin(&self, name: &str) -> Result<(), ProviderError> {
        let mut state = self.state();
        let Some(why) = state.given_up.clone() else { return Ok(()) };
        // Not of a kind that is tried again.
        let error = ProviderError {
            kind: ErrorKind::InvalidRequest,
            message: format!("nothing more is asked, too much has failed: {}", why.message),
            ..why.clone()
        };
        state.unanswered.entry(name.to_owned()).or_insert(why);
        Err(error)
    }

    fn end(&self, name: &str, answer: &Result<Completion, ProviderError>) {
        let mut state = self.state();
        match answer {
            Err(error) if !entry::lasting(error.kind) && error.kind != ErrorKind::DryRun => {
                state.in_a_row += u32::from(!is_local(error.kind));
                if is_final(error.kind) || state.in_a_row >= PATIENCE {
                    state.given_up.get_or_insert_with(|| error.clone());
                }
                state.unanswered.insert(name.to_owned(), error.clone());
            }
            _ => {
                state.in_a_row = 0;
                state.unanswered.remove(name);
            }
        }
    }
}

/// A request that is under way. Dropped on the way, it was not answered in time.
struct UnderWay<'w> {
    watch: &'w Watch,
    name: String,
    answered: bool,
    model: String,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let dropped = ProviderError::new(
            ErrorKind::Timeout,
            format!(
                "a request to {} was abandoned before it was answered; `timeout_seconds` in [summarizer] is how long an answer may take",
                self.model
            ),
        );
        self.watch.end(&self.name, &Err(dropped));
    }
}

#[async_trait]
impl Model for Watch {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let name = entry::name(request);
        self.begin(&name)?;
        let model = request.endpoint.model.clone();
        let mut under_way = UnderWay { watch: self, name, answered: false, model };
        let answer = self.model.complete(request).await;
        under_way.answered = true;
        self.end(&under_way.name, &answer);
        answer
    }
}
