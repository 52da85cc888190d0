//! Rows as Arrow record batches, for Parquet and for programs that take a table as it is in memory.
//!
//! Text is UTF-8 and numbers are signed 64-bit integers, as every reader has them. Only what may be unknown may be null.

use super::Row;
use super::cell::{Cell, cells};
#[cfg(feature = "parquet")]
use arrow_array::RecordBatchOptions;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
#[cfg(feature = "parquet")]
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::{Error, Result};
use std::sync::Arc;

/// Rows per batch: enough for columns to be worth something, few enough to wait in memory.
pub(super) const BATCH: usize = 1 << 16;

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

    /// Values of JSON, by what all of them are. Text that is unknown is empty.
    #[cfg(feature = "parquet")]
    fn of_json(values: &[&Value]) -> Self {
        let all = |is: fn(&Value) -> bool| values.iter().all(|value| is(value));
        let kind = if all(Value::is_boolean) {
            Cell::Flag(false)
        } else if all(|value| value.is_null() || value.is_i64()) {
            Cell::Optional(None)
        } else if all(|value| value.is_null() || value.is_number()) {
            Cell::Real(None)
        } else {
            Cell::Text("".into())
        };
        let mut column = Self::like(&kind);
        for value in values {
            column.push(&match kind {
                Cell::Flag(_) => Cell::Flag(*value == true),
                Cell::Optional(_) => Cell::Optional(value.as_i64()),
                Cell::Real(_) => Cell::Real(value.as_f64()),
                _ => Cell::Text(match value {
                    Value::Null => "".into(),
                    Value::String(text) => text.into(),
                    other => other.to_string().into(),
                }),
            });
        }
        column
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

/// Rows of JSON that have the same members.
#[cfg(feature = "parquet")]
pub(super) fn of_json(rows: &[Map<String, Value>]) -> Result<RecordBatch> {
    let names = rows.first().into_iter().flat_map(Map::keys);
    let column = |name| {
        let values = rows.iter().filter_map(|row| row.get(name));
        (name, Column::of_json(&values.collect::<Vec<_>>()))
    };
    let columns = names.map(column).map(|(name, mut column)| (column.field(name), column.finish()));
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
    // Without a row there is no column, and the number of rows is known from nothing else.
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(Error::other)
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

/// Makes batches of rows.
pub(super) struct Batcher {
    pub(super) schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
}

impl Batcher {
    pub(super) fn new(metadata: Vec<(String, String)>) -> Self {
        let row = Row::default();
        let named = cells(&row).into_iter().map(|(name, cell)| (name, Column::like(&cell)));
        let (names, columns): (Vec<&str>, Vec<Column>) = named.unzip();
        let fields = names.iter().zip(&columns).map(|(name, column)| column.field(name));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let schema = schema.with_metadata(metadata.into_iter().collect::<HashMap<_, _>>());
        Self { schema: Arc::new(schema), columns, rows: 0 }
    }

    /// Takes a row, and gives a batch where it is the last of one.
    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<Option<RecordBatch>> {
        for (column, (_, cell)) in self.columns.iter_mut().zip(cells(row)) {
            column.push(&cell);
        }
        self.rows += 1;
        if self.rows == BATCH { self.rest() } else { Ok(None) }
    }

    /// The rows that are in no batch yet.
    pub(super) fn rest(&mut self) -> Result<Option<RecordBatch>> {
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(None);
        }
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        batch.map(Some).map_err(Error::other)
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
        let mut batcher = Batcher::new(vec![("a".to_owned(), "b".to_owned())]);
        let pushed = (0..rows).filter_map(|call| batcher.push(&row(call)).unwrap());
        let mut batches: Vec<RecordBatch> = pushed.collect();
        batches.extend(batcher.rest().unwrap());
        assert_eq!(batches.len(), 2);
        assert_eq!(batcher.schema.metadata()["a"], "b");
        let mut call = 0;
        for batch in &batches {
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
        let nullable = |name: &str| batcher.schema.field_with_name(name).unwrap().is_nullable();
        assert!(nullable("start_ms") && !nullable("call"));
    }
}
