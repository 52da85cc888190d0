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
    /// Failures of requests that were sent, since the latest answer.
    in_a_row: u32,
    /// Why nothing more is asked.
    given_up: Option<ProviderError>,
}

impl Watch {
    /// Watches over `model`.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, seen: Mutex::default() }
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
        if let Some(why) = seen.given_up.clone() {
            // Not of a kind that is tried again.
            let error = ProviderError { kind: ErrorKind::InvalidRequest, ..why.clone() };
            seen.unanswered.entry(name.to_owned()).or_insert(why);
            return Err(error);
        }
        let dropped = ProviderError::new(
            ErrorKind::Timeout,
            format!(
                "a request to {} was abandoned before it was answered; `timeout_seconds` in [summarizer] is how long an answer may take",
                request.endpoint.model
            ),
        );
        seen.unanswered.insert(name.to_owned(), dropped);
        Ok(())
    }

    fn end(&self, name: String, answer: &Result<Completion, ProviderError>) {
        let mut seen = self.seen();
        match answer {
            Err(error) if !entry::lasting(error.kind) && error.kind != ErrorKind::DryRun => {
                seen.in_a_row += u32::from(!is_local(error.kind));
                if is_final(error.kind) || seen.in_a_row >= PATIENCE {
                    seen.given_up.get_or_insert_with(|| error.clone());
                }
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
