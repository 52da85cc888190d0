//! The one exception of the package.

use foldback::wire::WireError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{Python, create_exception};
use std::fmt::Display;

create_exception!(
    foldback,
    Error,
    PyValueError,
    "Input that can't be used. `path` says where, as a JSON pointer, if it is about a message."
);

/// An error without a place.
pub(crate) fn error(message: impl Display) -> PyErr {
    Error::new_err(message.to_string())
}

/// Messages that can't be used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// What a provider's protocol says of them.
    Wire(WireError),
    /// What is wrong, with its place.
    At(String, String),
    /// What is wrong.
    Text(String),
}

impl From<WireError> for Unusable {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl Unusable {
    /// As an exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let (path, message) = match self {
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
        };
        let raised = error(message);
        match path.map(|path| raised.value(py).setattr("path", path)) {
            Some(Err(failed)) => failed,
            _ => raised,
        }
    }
}
