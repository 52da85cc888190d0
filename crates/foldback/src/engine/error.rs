//! Input that can't be used.

use foldback_providers::wire::WireError;
use std::fmt;
use thiserror::Error;

/// A request that can't be compacted.
#[derive(Error)]
#[non_exhaustive]
pub enum CompactError {
    /// What a provider's protocol says of messages.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// What is wrong with messages, with its place.
    #[error("{0}: {1}")]
    At(String, String),
    /// What is wrong.
    #[error("{0}")]
    Text(String),
}

/// As it is displayed: a `main` that returns it prints a sentence.
impl fmt::Debug for CompactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl CompactError {
    /// Without a place.
    pub(crate) fn text(message: impl fmt::Display) -> Self {
        Self::Text(message.to_string())
    }

    /// Where, as a JSON pointer, if it is about a message; and what is wrong.
    pub fn into_parts(self) -> (Option<String>, String) {
        let message = self.to_string();
        let place = match self {
            Self::Wire(WireError::Shape { pointer, .. } | WireError::Elsewhere { pointer }) => {
                Some(pointer)
            }
            Self::At(pointer, _) => Some(pointer),
            Self::Wire(_) | Self::Text(_) => None,
        };
        (place, message)
    }
}
