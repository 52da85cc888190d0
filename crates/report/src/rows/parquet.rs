//! Rows as Parquet: a row group for each batch of Arrow.

use super::Row;
use super::arrow::{Batcher, of_json};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::file::metadata::KeyValue;
use serde_json::{Map, Value};
use std::io::{Error, Result, Write};

/// Encodes into memory, which is emptied after every row group; it counts offsets by itself.
type Writer = ArrowWriter<Vec<u8>>;

/// A writer of rows with these columns.
fn writer(schema: SchemaRef) -> Result<Writer> {
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(Vec::new(), schema, options).map_err(Error::other)
}

/// Writes rows of JSON that have the same members as one row group.
pub(crate) fn write_json(rows: &[Map<String, Value>], out: &mut dyn Write) -> Result<()> {
    let batch = of_json(rows)?;
    let mut writer = writer(batch.schema())?;
    writer.write(&batch).map_err(Error::other)?;
    out.write_all(&writer.into_inner().map_err(Error::other)?)
}

/// A file that is being written.
pub(super) struct Table<'w> {
    out: &'w mut dyn Write,
    writer: Writer,
    batcher: Batcher,
}

impl<'w> Table<'w> {
    pub(super) fn new(out: &'w mut dyn Write, metadata: Vec<(String, String)>) -> Result<Self> {
        let batcher = Batcher::new(Vec::new());
        let mut writer = writer(batcher.schema.clone())?;
        for (name, value) in metadata {
            writer.append_key_value_metadata(KeyValue::new(name, value));
        }
        Ok(Self { out, writer, batcher })
    }

    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<()> {
        let batch = self.batcher.push(row)?;
        self.group(batch)
    }

    /// Writes the last row group and the footer.
    pub(super) fn finish(mut self) -> Result<()> {
        let batch = self.batcher.rest()?;
        self.group(batch)?;
        self.out.write_all(&self.writer.into_inner().map_err(Error::other)?)
    }

    fn group(&mut self, batch: Option<RecordBatch>) -> Result<()> {
        let Some(batch) = batch else { return Ok(()) };
        self.writer.write(&batch).and_then(|()| self.writer.flush()).map_err(Error::other)?;
        self.out.write_all(&std::mem::take(self.writer.inner_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrow::BATCH;
    use super::super::sample as row;
    use super::*;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;
    use serde_json::json;

    #[test]
    fn rows_come_back_over_row_groups() {
        let rows = BATCH + 3;
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
        let read = |rows: &[Map<String, Value>]| {
            let mut written = tempfile::tempfile().unwrap();
            write_json(rows, &mut written).unwrap();
            SerializedFileReader::new(written).unwrap()
        };
        assert_eq!(read(&[]).metadata().file_metadata().num_rows(), 0);
        let file = read(&rows);
        let read: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let expected =
            [r#"{a: "a", b: 1, c: 0.5, d: true}"#, r#"{a: "", b: null, c: 2.0, d: false}"#];
        assert_eq!(read, expected);
    }
}
