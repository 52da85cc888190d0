//! Models as seen from here: a request of texts, an answer, and errors in one vocabulary.
//!
//! The core sends nothing. A [`Model`] is injected with the [services](crate::services); stages that
//! need a text use it, and an agent's own client shares the [`ErrorKind`]s, so that "too long"
//! always means the same. A separate crate classifies the errors of providers.

mod completion;
mod error;

pub use completion::{Asks, Completion, CompletionRequest, Endpoint, Model, Turn};
pub use error::{ErrorKind, ProviderError};
