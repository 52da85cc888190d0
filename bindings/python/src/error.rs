//! The one exception of the package.

use foldback::CompactError;
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

/// Input that can't be used, as an exception. Takes the interpreter's lock if it is not held.
pub(crate) fn raised(unusable: CompactError) -> PyErr {
    let (path, message) = unusable.into_parts();
    let made = error(message);
    let set = path.map(|path| Python::attach(|py| made.value(py).setattr("path", path)));
    match set {
        Some(Err(failed)) => failed,
        _ => made,
    }
}
