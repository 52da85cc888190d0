//! Presets by name, and strategies from TOML.

use crate::error::raised;
use foldback::Strategy;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A strategy: a preset by its name, or one from TOML.
#[derive(Debug)]
#[pyclass(frozen, module = "foldback")]
pub(crate) struct Preset {
    pub(crate) strategy: Arc<Strategy>,
}

#[pymethods]
impl Preset {
    /// A preset by its name or one of its aliases.
    #[new]
    fn named(py: Python<'_>, name: &str) -> PyResult<Self> {
        let strategy = py.detach(|| foldback_engine::preset(name)).map_err(raised)?;
        Ok(Self { strategy })
    }

    /// A strategy from a strategy file: its path (a `Path`, or a `str` that ends with `.toml`), or its text.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text_or_path: Source) -> PyResult<Self> {
        let made = py.detach(|| match text_or_path {
            Source::Text(text) => foldback_engine::from_toml(&text),
            Source::Path(path) => foldback_engine::from_file(&path),
        });
        Ok(Self { strategy: made.map_err(raised)? })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.strategy.name
    }

    /// What it does, in a sentence.
    #[getter]
    fn description(&self) -> &str {
        &self.strategy.description
    }

    /// The system and version whose compaction it reproduces; empty if it is nobody's.
    #[getter]
    fn reproduces(&self) -> &str {
        &self.strategy.reproduces
    }

    fn __repr__(&self) -> String {
        format!("<foldback.Preset {}>", self.strategy.name)
    }
}

/// A strategy file.
#[derive(FromPyObject)]
enum Source {
    Text(String),
    Path(PathBuf),
}

/// The presets, in the order of the registry.
#[pyfunction]
pub(crate) fn presets(py: Python<'_>) -> PyResult<Vec<Preset>> {
    let made = py.detach(foldback_engine::presets).map_err(raised)?;
    Ok(made.into_iter().map(|strategy| Preset { strategy }).collect())
}
