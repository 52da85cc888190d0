//! The native part of the Python package: presets, the engine behind `compact` and `Conversation`, and the command.
//!
//! The engine is that of all bindings (`foldback::engine`). Python objects are handled in Python (`python/foldback`). All
//! work is done without the interpreter's lock.

mod command;
mod comparison;
mod engine;
mod error;
mod preset;
mod stages;

use pyo3::prelude::*;

/// The module `foldback._foldback`.
#[pymodule]
mod _foldback {
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::comparison::{Comparison, compare, score};
    #[pymodule_export]
    use super::engine::{Engine, review, violations};
    #[pymodule_export]
    use super::error::Error;
    #[pymodule_export]
    use super::preset::{Preset, presets};
    #[pymodule_export]
    use super::stages::register;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
