//! The command `foldback` in this library: the wheel holds the engine once.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the command and gives its exit code. `library` is the file of this module.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, library: PathBuf, arguments: Vec<OsString>) -> u8 {
    py.detach(|| foldback_cli::run_in(library, arguments))
}
