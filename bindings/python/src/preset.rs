//! Presets by name, and strategies from TOML.

use crate::error::{error, raised};
use pyo3::prelude::*;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::PathBuf;

/// A strategy: a preset by its name, or one from TOML.
#[derive(Debug, PartialEq)]
#[pyclass(frozen, eq, module = "foldback")]
pub(crate) struct Preset(pub(crate) foldback::engine::Preset);

#[pymethods]
impl Preset {
    /// A preset by its name or one of its aliases.
    #[new]
    fn named(py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |_| error(format!("preset is a name or a Preset, not {name:?}"));
        let name: String = name.extract().map_err(wrong)?;
        Ok(Self(py.detach(|| foldback::engine::preset(&name)).map_err(raised)?))
    }

    /// A strategy from a strategy file: its path (a `Path`, or a `str` that ends with `.toml`), or its text.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text_or_path: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |_| error(format!("text_or_path is a text or a path, not {text_or_path:?}"));
        let source: Source = text_or_path.extract().map_err(wrong)?;
        let made = py.detach(|| match source {
            Source::Text(text) => foldback::engine::from_toml(&text),
            Source::Path(path) => foldback::engine::from_file(&path),
        });
        Ok(Self(made.map_err(raised)?))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.strategy.name
    }

    /// What it does, in a sentence.
    #[getter]
    fn description(&self) -> &str {
        &self.0.strategy.description
    }

    /// The system and version whose compaction it reproduces; empty if it is nobody's.
    #[getter]
    fn reproduces(&self) -> &str {
        &self.0.strategy.reproduces
    }

    fn __repr__(&self) -> String {
        format!("<foldback.Preset {}>", self.0.strategy.name)
    }

    /// Equal presets have one name.
    fn __hash__(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.0.strategy.name)
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
    let made = py.detach(foldback::engine::presets).map_err(raised)?;
    Ok(made.into_iter().map(Preset).collect())
}
