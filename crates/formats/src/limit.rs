//! Limits on input: a file may be an endless device, and a small archive may
//! unpack to more than any memory holds.

use std::io::{Error, ErrorKind, Read, Result};

/// Raises the limit: bytes that a file may have, and that an archive may unpack to.
pub const VARIABLE: &str = "FOLDBACK_MAX_BYTES";

/// The default limit.
pub const LARGEST: u64 = 1 << 30;

/// Share of the limit that one member of an archive may unpack to. The largest that was seen is a third of it.
pub(crate) const MEMBER: u64 = 16;

/// The limit in force.
///
/// # Errors
///
/// The environment variable is set to something other than a number.
pub fn largest() -> Result<u64> {
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(LARGEST) };
    let number = value.to_str().and_then(|value| value.trim().parse().ok());
    number.ok_or_else(|| {
        let problem = format!("{VARIABLE} is {value:?}; it must be a number of bytes");
        Error::new(ErrorKind::InvalidInput, problem)
    })
}

/// All that a reader gives.
///
/// # Errors
///
/// It can't be read, or it holds more than the limit; the error says how to raise it.
pub fn read(from: impl Read) -> Result<Vec<u8>> {
    let largest = largest()?;
    within(from, largest)?.ok_or_else(|| too_large(largest))
}

/// The error of what holds more than the limit.
pub fn too_large(largest: u64) -> Error {
    let problem = format!("holds more than {largest} bytes; {VARIABLE} raises the limit");
    Error::new(ErrorKind::FileTooLarge, problem)
}

/// All bytes of a reader; `None` if they are more than `largest`.
pub(crate) fn within(from: impl Read, largest: u64) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= largest).then_some(bytes))
}
