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

/// What is wrong with messages, with its place.
pub(crate) fn wire(py: Python<'_>, wrong: &WireError) -> PyErr {
    let raised = error(wrong);
    let path = match wrong {
        WireError::Shape { pointer, .. } | WireError::Elsewhere { pointer } => Some(pointer),
        _ => None,
    };
    if let Some(path) = path
        && let Err(failed) = raised.value(py).setattr("path", path)
    {
        return failed;
    }
    raised
}
