//! `compare`: the command's comparison, its rows as an Arrow stream; `score`, its first half.

use crate::error::error;
use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use foldback_report::rows::{Batches, batches};
use foldback_report::{Width, json, table};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::OsString;

/// Presets compared on recorded sessions: one row for each session, preset and call.
#[pyclass(frozen, module = "foldback")]
pub(crate) struct Comparison {
    rows: Batches,
    json: String,
    text: String,
}

/// Compares, with the arguments of the command.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<Comparison> {
    py.detach(|| {
        let compared = foldback_cli::compare(arguments).map_err(|wrong| error(wrong.trim_end()))?;
        let comparison = &compared.comparison;
        Ok(Comparison {
            rows: batches(comparison, &compared.store).map_err(error)?,
            json: json::comparison(comparison).map_err(error)?,
            text: table::comparison(comparison, Width::pipe()),
        })
    })
}

/// Scores a part of a corpus, with the arguments of the command.
#[pyfunction]
pub(crate) fn score(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<()> {
    py.detach(|| foldback_cli::score(arguments).map_err(|wrong| error(wrong.trim_end())))
}

#[pymethods]
impl Comparison {
    /// The rows as a stream of the Arrow PyCapsule interface. Nothing is copied: the stream shares the columns.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer may ask for other types; the interface lets a producer that has but one answer with that.
        let _ = requested_schema;
        let Batches { schema, batches, .. } = self.rows.clone();
        let stream = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(stream));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The rows as a pandas data frame. Needs pyarrow, which pandas reads Arrow with.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let frame = py.import("pandas")?.getattr("DataFrame")?;
        if frame.hasattr("from_arrow")? {
            return frame.call_method1("from_arrow", (slf,));
        }
        py.import("pyarrow")?.call_method1("table", (slf,))?.call_method0("to_pandas")
    }

    /// The rows as a polars data frame.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    fn __len__(&self) -> usize {
        self.rows.batches.iter().map(|batch| batch.num_rows()).sum()
    }

    /// The comparison as `foldback compare --json` writes it.
    fn json(&self) -> &str {
        &self.json
    }

    /// The tables of `foldback compare --show full`.
    fn __str__(&self) -> &str {
        &self.text
    }
}
