//! Rows as comma-separated values: names in the first line, empty for what is not known.

use super::Row;
use super::cell::{Cell, cells};
use std::borrow::Cow;
use std::io::{Result, Write};

/// A table that is being written.
pub(super) struct Table<'w> {
    writer: csv::Writer<&'w mut dyn Write>,
}

impl<'w> Table<'w> {
    /// Writes the names.
    pub(super) fn new(out: &'w mut dyn Write) -> Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(cells(&Row::default()).iter().map(|(name, _)| name))?;
        Ok(Self { writer })
    }

    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<()> {
        for (_, cell) in cells(row) {
            let text = match cell {
                Cell::Text(text) => text,
                Cell::Number(number) | Cell::Optional(Some(number)) => number.to_string().into(),
                Cell::Optional(None) => Cow::Borrowed(""),
                Cell::Flag(flag) => Cow::Borrowed(if flag { "true" } else { "false" }),
            };
            self.writer.write_field(text.as_bytes())?;
        }
        self.writer.write_record(None::<&[u8]>)?;
        Ok(())
    }

    /// Writes what is still buffered.
    pub(super) fn finish(mut self) -> Result<()> {
        self.writer.flush()
    }
}
