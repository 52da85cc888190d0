//! Watches over requests whose failure must not go unnoticed.
//!
//! A strategy survives a summary that could not be had: it keeps its view or copies one together. In an
//! agent that is right. In a comparison it would report numbers of another strategy, so whoever compares
//! asks afterwards what was never answered.

use crate::cassette::entry;
use async_trait::async_trait;
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Failures in a row, each of which would pass, after which nothing more is asked: the provider is out,
/// and what is recorded by now is recorded.
const PATIENCE: u32 = 12;

/// Remembers which requests were never answered.
///
/// A request that fails and is answered later is forgotten. Failures that belong to the request (too
/// large, content refused) and dry runs are no failures here: a summarizer deals with them, and would
/// deal with them the same way again.
#[derive(Debug)]
pub struct Watch {
    model: Arc<dyn Model>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// By the request's name, so that the first one does not depend on what ran when.
    unanswered: BTreeMap<String, ProviderError>,
    /// Failures since the latest answer that would pass.
    in_a_row: u32,
}

impl Watch {
    /// Watches over `model`.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            seen: Mutex::default(),
        }
    }

    /// The first of the requests that were never answered, and how many there are.
    pub fn unanswered(&self) -> Option<(ProviderError, usize)> {
        let seen = self.seen();
        let (_, first) = seen.unanswered.first_key_value()?;
        Some((first.clone(), seen.unanswered.len()))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request goes out, and counts as not answered until it is: it may be dropped on the way.
    fn begin(&self, name: &str, request: &CompletionRequest) -> Result<(), ProviderError> {
        let mut seen = self.seen();
        if seen.in_a_row >= PATIENCE
            && let Some(last) = seen.unanswered.values().next().cloned()
        {
            // Not of a kind that is tried again.
            let error = ProviderError {
                kind: ErrorKind::InvalidRequest,
                ..last.clone()
            };
            seen.unanswered.entry(name.to_owned()).or_insert(last);
            return Err(error);
        }
        let dropped = ProviderError::new(
            ErrorKind::Timeout,
            format!(
                "a request to {} was given up before it was answered; `timeout_seconds` in [summarizer] is how long an answer may take",
                request.endpoint.model
            ),
        );
        seen.unanswered.insert(name.to_owned(), dropped);
        Ok(())
    }

    fn end(&self, name: String, answer: &Result<Completion, ProviderError>) {
        let mut seen = self.seen();
        match answer {
            Err(error) if error.kind.is_transient() => {
                seen.in_a_row += 1;
                seen.unanswered.insert(name, error.clone());
            }
            Err(error) if !entry::lasting(error.kind) && error.kind != ErrorKind::DryRun => {
                seen.unanswered.insert(name, error.clone());
            }
            _ => {
                seen.in_a_row = 0;
                seen.unanswered.remove(&name);
            }
        }
    }
}

#[async_trait]
impl Model for Watch {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let name = entry::name(request);
        self.begin(&name, request)?;
        let answer = self.model.complete(request).await;
        self.end(name, &answer);
        answer
    }
}
