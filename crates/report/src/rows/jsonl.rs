//! Rows as JSON lines.

use super::Row;
use std::io::{Result, Write};

/// Writes a row and ends the line.
pub(super) fn write(row: &Row<'_>, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    out.write_all(b"\n")
}
