//! Models as seen from here: a request of texts, an answer, and errors in one vocabulary.
//!
//! The core sends nothing. A [`Model`] is injected with the [services](crate::services); stages that
//! need a text written ask it, and an agent's own client shares the [`ErrorKind`]s, so that "too long"
//! means the same wherever it comes from. What a provider answered is read by a crate of its own.

mod completion;
mod error;

pub use completion::{Asks, Completion, CompletionRequest, Endpoint, Model, Turn};
pub use error::{ErrorKind, ProviderError};
