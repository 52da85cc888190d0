//! Rows as comma-separated values: names in the first line, empty for what is not known. A text that a
//! spreadsheet would take for a formula has an apostrophe in front, which makes it a text there.

use super::Row;
use super::cell::{Cell, cells};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io::{Result, Write};

/// Rows of any kind; the names are those of the first.
pub(super) fn flat(rows: &[Map<String, Value>], out: &mut dyn Write) -> Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(rows.first().into_iter().flat_map(Map::keys))?;
    for row in rows {
        table.write_record(row.values().map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => no_formula(text.into()).into_owned(),
            other => other.to_string(),
        }))?;
    }
    table.flush()
}

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
                Cell::Text(text) => no_formula(text),
                Cell::Number(number) | Cell::Optional(Some(number)) => number.to_string().into(),
                Cell::Real(Some(number)) => number.to_string().into(),
                Cell::Optional(None) | Cell::Real(None) => Cow::Borrowed(""),
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

/// A text that no spreadsheet evaluates, such as a command or an address to fetch.
pub(super) fn no_formula(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}").into(),
        false => text,
    }
}

/// A line of texts and numbers that are written already.
pub(crate) fn written<const N: usize>(cells: &[String; N]) -> String {
    let field = |cell: &String| match cell.parse::<f64>() {
        Ok(_) => cell.clone(),
        Err(_) => no_formula(cell.into()).into_owned(),
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Nothing fails in memory.
    let written = writer.write_record(cells.each_ref().map(field));
    let bytes = written.ok().and_then(|()| writer.into_inner().ok());
    String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_formula() {
        let table = [
            ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t=1"),
            ("a=1", "a=1"),
        ];
        for (session, written) in table {
            let mut out = Vec::new();
            let mut rows = Table::new(&mut out).unwrap();
            rows.push(&Row { session, ..Row::default() }).unwrap();
            rows.finish().unwrap();
            let text = String::from_utf8(out).unwrap();
            let line = text.lines().nth(1).unwrap();
            assert!(line.starts_with(&format!("{written},")), "{line}");
        }
    }
}
