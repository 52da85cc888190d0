//! Rows as Arrow record batches, for programs that take a table as it is in memory.
//!
//! The columns are those of Parquet: text is UTF-8, numbers are signed 64-bit integers, and only what may be unknown may be
//! null.

use super::Row;
use super::cell::{Cell, cells};
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::io::{Error, Result};
use std::sync::Arc;

/// Rows per batch.
const BATCH: usize = 1 << 16;

/// The values of one column of a batch.
enum Column {
    Text(StringBuilder),
    Number(Int64Builder),
    Optional(Int64Builder),
    Real(Float64Builder),
    Flag(BooleanBuilder),
}

impl Column {
    fn like(cell: &Cell<'_>) -> Self {
        match cell {
            Cell::Text(_) => Self::Text(StringBuilder::new()),
            Cell::Number(_) => Self::Number(Int64Builder::new()),
            Cell::Optional(_) => Self::Optional(Int64Builder::new()),
            Cell::Real(_) => Self::Real(Float64Builder::new()),
            Cell::Flag(_) => Self::Flag(BooleanBuilder::new()),
        }
    }

    fn field(&self, name: &str) -> Field {
        let (kind, nullable) = match self {
            Self::Text(_) => (DataType::Utf8, false),
            Self::Number(_) => (DataType::Int64, false),
            Self::Optional(_) => (DataType::Int64, true),
            Self::Real(_) => (DataType::Float64, true),
            Self::Flag(_) => (DataType::Boolean, false),
        };
        Field::new(name, kind, nullable)
    }

    fn push(&mut self, cell: &Cell<'_>) {
        match (self, cell) {
            (Self::Text(values), Cell::Text(text)) => values.append_value(text),
            (Self::Number(values), Cell::Number(number)) => values.append_value(*number),
            (Self::Optional(values), Cell::Optional(number)) => values.append_option(*number),
            (Self::Real(values), Cell::Real(number)) => values.append_option(*number),
            (Self::Flag(values), Cell::Flag(flag)) => values.append_value(*flag),
            _ => unreachable!("a column has one kind of value"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(values) => Arc::new(values.finish()),
            Self::Number(values) | Self::Optional(values) => Arc::new(values.finish()),
            Self::Real(values) => Arc::new(values.finish()),
            Self::Flag(values) => Arc::new(values.finish()),
        }
    }
}

/// A table in memory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batches {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

/// A table that is being made.
pub(super) struct Table {
    columns: Vec<Column>,
    rows: usize,
    made: Batches,
}

impl Table {
    pub(super) fn new(metadata: Vec<(String, String)>) -> Self {
        let row = Row::default();
        let named = cells(&row).into_iter().map(|(name, cell)| (name, Column::like(&cell)));
        let (names, columns): (Vec<&str>, Vec<Column>) = named.unzip();
        let fields = names.iter().zip(&columns).map(|(name, column)| column.field(name));
        let fields = fields.collect::<Vec<_>>();
        let schema = Schema::new(fields)
            .with_metadata(metadata.into_iter().collect::<std::collections::HashMap<_, _>>());
        Self { columns, rows: 0, made: Batches { schema: Arc::new(schema), batches: Vec::new() } }
    }

    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<()> {
        for (column, (_, cell)) in self.columns.iter_mut().zip(cells(row)) {
            column.push(&cell);
        }
        self.rows += 1;
        if self.rows == BATCH { self.batch() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> Result<Batches> {
        self.batch()?;
        Ok(self.made)
    }

    fn batch(&mut self) -> Result<()> {
        if self.rows > 0 {
            let arrays = self.columns.iter_mut().map(Column::finish).collect();
            let batch = RecordBatch::try_new(Arc::clone(&self.made.schema), arrays);
            self.made.batches.push(batch.map_err(Error::other)?);
            self.rows = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample as row;
    use super::*;
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::Int64Type;

    #[test]
    fn rows_come_back_over_batches() {
        let rows = BATCH + 3;
        let mut table = Table::new(vec![("a".to_owned(), "b".to_owned())]);
        for call in 0..rows {
            table.push(&row(call)).unwrap();
        }
        let made = table.finish().unwrap();
        assert_eq!(made.batches.len(), 2);
        assert_eq!(made.schema.metadata()["a"], "b");
        let mut call = 0;
        for batch in &made.batches {
            let column = |name: &str| batch.column_by_name(name).unwrap();
            let start = column("start_ms").as_primitive::<Int64Type>();
            for at in 0..batch.num_rows() {
                let expected = row(call);
                assert_eq!(column("preset").as_string::<i32>().value(at), expected.preset);
                assert_eq!(column("overflow").as_boolean().value(at), expected.overflow);
                assert_eq!(start.is_valid(at).then(|| start.value(at)), expected.start_ms);
                call += 1;
            }
        }
        assert_eq!(call, rows);
        let nullable = |name: &str| made.schema.field_with_name(name).unwrap().is_nullable();
        assert!(nullable("start_ms") && !nullable("call"));
    }
}
