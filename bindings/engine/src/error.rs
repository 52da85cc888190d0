//! Input that can't be used.

use foldback::wire::WireError;
use std::fmt::Display;

/// Input that can't be used.
#[derive(Debug)]
pub enum Unusable {
    /// What a provider's protocol says of messages.
    Wire(WireError),
    /// What is wrong with messages, with its place.
    At(String, String),
    /// What is wrong.
    Text(String),
}

impl Unusable {
    /// Without a place.
    pub(crate) fn text(message: impl Display) -> Self {
        Self::Text(message.to_string())
    }

    /// Where, as a JSON pointer, if it is about a message; and what is wrong.
    pub fn into_parts(self) -> (Option<String>, String) {
        match self {
            Self::Wire(wrong) => {
                let message = wrong.to_string();
                match wrong {
                    WireError::Shape { pointer, .. } | WireError::Elsewhere { pointer } => {
                        (Some(pointer), message)
                    }
                    _ => (None, message),
                }
            }
            Self::At(path, detail) => {
                let message = format!("{path}: {detail}");
                (Some(path), message)
            }
            Self::Text(message) => (None, message),
        }
    }
}

impl From<WireError> for Unusable {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}
