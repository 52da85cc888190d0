//! Parts of scores as files: JSON lines, and with the feature `parquet` tables. What a part holds is in
//! [`foldback_replay::scores`].

#[cfg(feature = "parquet")]
mod parquet;

use crate::rows::Format;
#[cfg(not(feature = "parquet"))]
use crate::rows::NoParquet;
use foldback_replay::Store;
use foldback_replay::scores::{Reader, Scored, ScoresError};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, Write};

/// What a file of Parquet begins with.
pub const PARQUET: &[u8] = b"PAR1";

/// Writes one part: a table where the format is one, else JSON lines.
///
/// # Errors
///
/// It can't be written, or the store has lost results.
pub fn write(scored: Scored, store: &Store, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(scored, store, out),
        _ => scored.lines(store, |_, text| out.write_all(text)),
    }
}

/// Reads the parts in a file, which its first bytes tell the format of.
///
/// # Errors
///
/// A part can't be read or used.
pub fn read(part: &str, mut file: File, reader: &mut Reader<'_>) -> Result<(), ScoresError> {
    let wrong = |why: String| ScoresError { part: part.to_owned(), line: 1, why };
    let mut first = Vec::new();
    let is_table =
        (&file).take(PARQUET.len() as u64).read_to_end(&mut first).map(|_| first == PARQUET);
    let begun = is_table.and_then(|is_table| file.rewind().map(|()| is_table));
    match begun.map_err(|error| wrong(error.to_string()))? {
        false => reader.json(part, BufReader::new(file)),
        #[cfg(feature = "parquet")]
        true => parquet::read(part, file, reader),
        #[cfg(not(feature = "parquet"))]
        true => Err(wrong(NoParquet.to_string())),
    }
}
