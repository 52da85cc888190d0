//! Rows as Parquet, column by column, without Arrow.
//!
//! Text is UTF-8 and numbers are signed 64-bit integers, as every reader has them. What may be unknown
//! is optional, everything else required.

use super::Row;
use super::cell::{Cell, cells};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Value};
use std::io::{Error, Result, Write};
use std::sync::Arc;

/// Rows per row group: enough for columns to be worth something, few enough to wait in memory.
const GROUP: usize = 1 << 16;

/// The values of one column of a row group.
enum Column {
    Text(Vec<ByteArray>),
    Number(Vec<i64>),
    /// The known values, and for every row 1 if its value is known, else 0.
    Optional(Vec<i64>, Vec<i16>),
    Real(Vec<f64>, Vec<i16>),
    Flag(Vec<bool>),
}

impl Column {
    /// The columns of a row, without values.
    fn all() -> Vec<Self> {
        cells(&Row::default()).iter().map(|(_, value)| Self::like(value)).collect()
    }

    fn like(value: &Cell<'_>) -> Self {
        match value {
            Cell::Text(_) => Self::Text(Vec::new()),
            Cell::Number(_) => Self::Number(Vec::new()),
            Cell::Optional(_) => Self::Optional(Vec::new(), Vec::new()),
            Cell::Real(_) => Self::Real(Vec::new(), Vec::new()),
            Cell::Flag(_) => Self::Flag(Vec::new()),
        }
    }

    /// Values of JSON, by what all of them are. Text that is unknown is empty.
    fn of_json(values: &[&Value]) -> Self {
        let all = |is: fn(&Value) -> bool| values.iter().all(|value| is(value));
        let levels = || values.iter().map(|value| i16::from(!value.is_null())).collect();
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if all(Value::is_boolean) {
            Self::Flag(values.iter().filter_map(|value| value.as_bool()).collect())
        } else if all(|value| value.is_null() || value.is_i64()) {
            Self::Optional(values.iter().filter_map(|value| value.as_i64()).collect(), levels())
        } else if all(|value| value.is_null() || value.is_number()) {
            Self::Real(values.iter().filter_map(|value| value.as_f64()).collect(), levels())
        } else {
            Self::Text(values.iter().map(|value| text(value).into_bytes().into()).collect())
        }
    }

    fn describe(&self, name: &str) -> std::result::Result<TypePtr, ParquetError> {
        let (physical, logical, repetition) = match self {
            Self::Text(_) => {
                (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED)
            }
            Self::Number(_) => (Physical::INT64, None, Repetition::REQUIRED),
            Self::Optional(..) => (Physical::INT64, None, Repetition::OPTIONAL),
            Self::Real(..) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
            Self::Flag(_) => (Physical::BOOLEAN, None, Repetition::REQUIRED),
        };
        let column = Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()?;
        Ok(Arc::new(column))
    }

    fn push(&mut self, value: Cell<'_>) {
        match (self, value) {
            (Self::Text(values), Cell::Text(text)) => values.push(text.as_bytes().to_vec().into()),
            (Self::Number(values), Cell::Number(number)) => values.push(number),
            (Self::Optional(values, levels), Cell::Optional(number)) => {
                levels.push(i16::from(number.is_some()));
                values.extend(number);
            }
            (Self::Real(values, levels), Cell::Real(number)) => {
                levels.push(i16::from(number.is_some()));
                values.extend(number);
            }
            (Self::Flag(values), Cell::Flag(flag)) => values.push(flag),
            _ => unreachable!("a column has one kind of value"),
        }
    }

    fn write(
        self,
        group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    ) -> std::result::Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General("a column too many".to_owned()));
        };
        match self {
            Self::Text(values) => {
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?
            }
            Self::Number(values) => column.typed::<Int64Type>().write_batch(&values, None, None)?,
            Self::Optional(values, levels) => {
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?
            }
            Self::Real(values, levels) => {
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?
            }
            Self::Flag(values) => column.typed::<BoolType>().write_batch(&values, None, None)?,
        };
        column.close()
    }
}

/// Writes rows of JSON that have the same members as one row group.
pub(crate) fn write_json(rows: &[Map<String, Value>], out: &mut dyn Write) -> Result<()> {
    let names = rows.first().into_iter().flat_map(Map::keys);
    let column = |name| {
        let values = rows.iter().filter_map(|row| row.get(name));
        (name, Column::of_json(&values.collect::<Vec<_>>()))
    };
    let columns: Vec<(&String, Column)> = names.map(column).collect();
    let mut file = file(columns.iter().map(|(name, column)| column.describe(name)))?;
    let mut group = file.next_row_group().map_err(Error::other)?;
    for (_, column) in columns {
        column.write(&mut group).map_err(Error::other)?;
    }
    group.close().map_err(Error::other)?;
    out.write_all(&file.into_inner().map_err(Error::other)?)
}

/// A file of these columns in memory.
fn file(
    types: impl Iterator<Item = std::result::Result<TypePtr, ParquetError>>,
) -> Result<SerializedFileWriter<Vec<u8>>> {
    let types = types.collect::<std::result::Result<_, _>>().map_err(Error::other)?;
    let group = Type::group_type_builder("row").with_fields(types).build().map_err(Error::other)?;
    SerializedFileWriter::new(Vec::new(), Arc::new(group), WriterProperties::default().into())
        .map_err(Error::other)
}

/// A file that is being written.
pub(super) struct Table<'w> {
    out: &'w mut dyn Write,
    /// Encodes into memory, which is emptied after every row group; it counts offsets by itself.
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Column>,
    rows: usize,
}

impl<'w> Table<'w> {
    pub(super) fn new(out: &'w mut dyn Write, metadata: Vec<(String, String)>) -> Result<Self> {
        let columns = Column::all();
        let named = cells(&Row::default()).into_iter().zip(&columns);
        let file = file(named.map(|((name, _), column)| column.describe(name)))?;
        let mut table = Self { out, file, columns, rows: 0 };
        for (name, value) in metadata {
            table.file.append_key_value_metadata(KeyValue::new(name, value));
        }
        Ok(table)
    }

    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<()> {
        for (column, (_, value)) in self.columns.iter_mut().zip(cells(row)) {
            column.push(value);
        }
        self.rows += 1;
        if self.rows == GROUP {
            self.group()?;
        }
        Ok(())
    }

    /// Writes the last row group and the footer.
    pub(super) fn finish(mut self) -> Result<()> {
        self.group()?;
        self.out.write_all(&self.file.into_inner().map_err(Error::other)?)
    }

    fn group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(Error::other)?;
        for column in std::mem::replace(&mut self.columns, Column::all()) {
            column.write(&mut group).map_err(Error::other)?;
        }
        group.close().map_err(Error::other)?;
        self.rows = 0;
        self.file.flush()?;
        self.out.write_all(&std::mem::take(self.file.inner_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample as row;
    use super::*;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;
    use serde_json::json;

    #[test]
    fn rows_come_back_over_row_groups() {
        let rows = GROUP + 3;
        let mut written = tempfile::tempfile().unwrap();
        let mut table = Table::new(&mut written, vec![("a".to_owned(), "b".to_owned())]).unwrap();
        for call in 0..rows {
            table.push(&row(call)).unwrap();
        }
        table.finish().unwrap();

        let file = SerializedFileReader::new(written).unwrap();
        assert_eq!(file.num_row_groups(), 2);
        let said = file.metadata().file_metadata().key_value_metadata().unwrap();
        assert_eq!((&*said[0].key, said[0].value.as_deref()), ("a", Some("b")));
        let names = file.metadata().file_metadata().schema().get_fields();
        let at = |name: &str| names.iter().position(|field| field.name() == name).unwrap();
        let (preset, start, overflow) = (at("preset"), at("start_ms"), at("overflow"));
        let mut call = 0;
        for read in file.get_row_iter(None).unwrap().map(std::result::Result::unwrap) {
            let expected = row(call);
            assert_eq!(read.get_string(preset).unwrap(), expected.preset, "{call}");
            assert_eq!(read.get_bool(overflow).unwrap(), expected.overflow, "{call}");
            assert_eq!(read.get_long(start).ok(), expected.start_ms, "{call}");
            call += 1;
        }
        assert_eq!(call, rows);
    }

    #[test]
    fn rows_of_json_come_back() {
        let rows = [
            (json!("a"), json!(1), json!(0.5), json!(true)),
            (json!(null), json!(null), json!(2), json!(false)),
        ];
        let rows = rows.map(|(text, count, real, flag)| {
            let row = json!({ "a": text, "b": count, "c": real, "d": flag });
            row.as_object().unwrap().clone()
        });
        let mut written = tempfile::tempfile().unwrap();
        write_json(&rows, &mut written).unwrap();
        let file = SerializedFileReader::new(written).unwrap();
        let read: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let expected =
            [r#"{a: "a", b: 1, c: 0.5, d: true}"#, r#"{a: "", b: null, c: 2.0, d: false}"#];
        assert_eq!(read, expected);
    }
}
