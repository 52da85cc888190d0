//! A conversation in the engine, without the interpreter's lock.

use crate::error::raised;
use crate::preset::Preset;
use foldback::engine::Message;
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

    fn explain(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.explain())
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
