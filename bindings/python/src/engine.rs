//! A conversation in the engine, without the interpreter's lock.

use crate::error::raised;
use crate::preset::Preset;
use foldback::engine::{Message, testing};
use pyo3::prelude::*;

/// A conversation that is followed from request to request.
#[pyclass(frozen, module = "foldback")]
pub(crate) struct Engine(foldback::engine::Engine);

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (preset, protocol, window=None, max_output=None, model=None))]
    fn new(
        preset: &Preset,
        protocol: &str,
        window: Option<u64>,
        max_output: Option<u64>,
        model: Option<String>,
    ) -> PyResult<Self> {
        let made = foldback::engine::Engine::new(&preset.0, protocol, window, max_output, model);
        Ok(Self(made.map_err(raised)?))
    }

    #[pyo3(signature = (body, answers=Vec::new()))]
    fn fold(
        &self,
        py: Python<'_>,
        body: &str,
        answers: Vec<(u32, String)>,
    ) -> PyResult<Vec<Message>> {
        py.detach(|| self.0.fold(body, &answers)).map_err(raised)
    }

    fn answered(&self, py: Python<'_>, number: u32, body: &str) -> PyResult<()> {
        py.detach(|| self.0.answered(number, body)).map_err(raised)
    }

    #[pyo3(signature = (instructions=None))]
    fn compact(&self, py: Python<'_>, instructions: Option<String>) -> PyResult<bool> {
        py.detach(|| self.0.compact(instructions)).map_err(raised)
    }

    fn overflow(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.0.overflow()).map_err(raised)
    }

    fn undo(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.undo())
    }

    fn pin(&self, py: Python<'_>, text: &str) -> bool {
        py.detach(|| self.0.pin(text))
    }

    fn unpin(&self, py: Python<'_>, text: &str) -> bool {
        py.detach(|| self.0.unpin(text))
    }

    fn explain(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.explain())
    }

    fn review(&self, py: Python<'_>, title: &str) -> String {
        py.detach(|| self.0.review(title))
    }

    fn sizes(&self, py: Python<'_>) -> (u64, u64, u64) {
        py.detach(|| self.0.sizes())
    }

    fn recall(&self, py: Python<'_>, arguments: &str) -> String {
        py.detach(|| self.0.recall(arguments))
    }

    fn recall_tool(&self) -> String {
        self.0.recall_tool()
    }

    #[getter]
    fn window(&self) -> (u64, u64) {
        self.0.window()
    }
}

/// What of one list of messages is shown in another. Lists are bodies of requests.
#[pyfunction]
pub(crate) fn review(
    py: Python<'_>,
    protocol: &str,
    title: &str,
    before: &str,
    after: &str,
) -> PyResult<String> {
    py.detach(|| testing::review(protocol, title, before, after)).map_err(raised)
}

/// The rules of its provider that a list of messages breaks.
#[pyfunction]
pub(crate) fn violations(py: Python<'_>, protocol: &str, body: &str) -> PyResult<Vec<String>> {
    py.detach(|| testing::violations(protocol, body)).map_err(raised)
}
