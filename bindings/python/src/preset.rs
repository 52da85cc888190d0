//! Presets by name, and strategies from TOML.

use crate::error::error;
use foldback::{Document, Options, Strategy, config};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
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
        py.detach(|| {
            let registry = foldback::registry().map_err(error)?;
            let made = foldback::preset(&registry, name).map_err(error)?;
            Ok(Self { strategy: Arc::new(made) })
        })
    }

    /// A strategy from a strategy file: its path (a `Path`, or a `str` that ends with `.toml`), or its text.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text_or_path: Source) -> PyResult<Self> {
        py.detach(|| {
            let path = match text_or_path {
                Source::Text(text) if text.contains('\n') || !text.ends_with(".toml") => {
                    return compiled("<toml>", &text, Path::new(""));
                }
                Source::Text(path) => PathBuf::from(path),
                Source::Path(path) => path,
            };
            let name = path.display().to_string();
            let text =
                std::fs::read_to_string(&path).map_err(|why| error(format!("{name}: {why}")))?;
            compiled(&name, &text, &path)
        })
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

fn compiled(name: &str, text: &str, path: &Path) -> PyResult<Preset> {
    let registry = foldback::registry().map_err(error)?;
    let read = foldback::read_beside(path);
    let options = Options { read_file: Some(&read), env: None };
    let document = Document::parse(name, text).map_err(error)?;
    let compiled = config::compile(&registry, document, options).map_err(error)?;
    Ok(Preset { strategy: Arc::new(compiled.strategy) })
}

/// The presets, in the order of the registry.
#[pyfunction]
pub(crate) fn presets(py: Python<'_>) -> PyResult<Vec<Preset>> {
    py.detach(|| {
        let registry = foldback::registry().map_err(error)?;
        let made = registry.presets().map(|preset| {
            let made = foldback::preset(&registry, preset.item.name).map_err(error)?;
            Ok(Preset { strategy: Arc::new(made) })
        });
        made.collect()
    })
}
