//! The text in the bytes of a file, which may be packed, and in one of the encodings that shells write.

use crate::limit::{self, within};
use crate::{ReadError, value};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::borrow::Cow;
use std::io;

/// The bytes of a file that may be packed with gzip or Zstandard.
///
/// # Errors
///
/// [`ReadError::Malformed`] where they cannot be unpacked, or are more than the limit.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ReadError> {
    let (what, found) = match bytes {
        [0x1f, 0x8b, ..] => ("the gzip file", gzip(bytes)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("the zstd file", zstd(bytes)),
        _ => return Ok(Cow::Borrowed(bytes)),
    };
    let fail = |error| value::malformed(what, format!("cannot be unpacked: {error}"));
    found.map(Cow::Owned).map_err(fail)
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let largest = limit::largest()?;
    within(MultiGzDecoder::new(bytes), largest)?.ok_or_else(|| limit::too_large(largest))
}

fn zstd(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let largest = limit::largest()?;
    let unpacked = StreamingDecoder::new(bytes).map_err(io::Error::other)?;
    within(unpacked, largest)?.ok_or_else(|| limit::too_large(largest))
}

/// The text: UTF-8, or the UTF-16 that PowerShell redirects to a file.
///
/// # Errors
///
/// [`ReadError::Binary`] if the bytes are neither.
pub(crate) fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, ReadError> {
    let wide = match bytes {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        [b'{' | b'[', 0, ..] => Some((bytes, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0, b'{' | b'[', ..] => Some((bytes, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((bytes, unit)) = wide {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        return Ok(char::decode_utf16(units).map(|char| char.unwrap_or('\u{fffd}')).collect());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ReadError::Binary { offset: error.valid_up_to() })?;
    Ok(Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text)))
}
