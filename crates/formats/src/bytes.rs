//! The text in the bytes of a file, which may be packed, and in one of the encodings that shells write.

use crate::limit::{self, within};
use crate::{ReadError, value};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::borrow::Cow;
use std::io;

/// How packed files begin.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The bytes of a file that may be packed with gzip or Zstandard.
///
/// # Errors
///
/// [`ReadError::Malformed`] where they cannot be unpacked, or are more than the limit.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ReadError> {
    let (what, found) = match () {
        () if bytes.starts_with(GZIP) => ("the gzip file", gzip(bytes)),
        () if bytes.starts_with(ZSTD) => ("the zstd file", zstd(bytes)),
        () => return Ok(Cow::Borrowed(bytes)),
    };
    let fail = |error| value::malformed(what, format!("cannot be unpacked: {error}"));
    found.map(Cow::Owned).map_err(fail)
}

/// Whether a file with this beginning is packed.
pub(crate) fn is_packed(beginning: &[u8]) -> bool {
    beginning.starts_with(GZIP) || beginning.starts_with(ZSTD)
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let largest = limit::largest()?;
    within(MultiGzDecoder::new(bytes), largest)?.ok_or_else(|| limit::too_large(largest))
}

/// Frame by frame: a recorder that appends writes one each time. The last may be torn; what was whole before it counts.
fn zstd(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let largest = limit::largest()?;
    let (mut rest, mut out) = (bytes, Vec::new());
    while !rest.is_empty() {
        let left = largest.saturating_sub(out.len() as u64);
        let frame = StreamingDecoder::new(&mut rest).map_err(io::Error::other);
        match frame.and_then(|frame| within(frame, left)) {
            Ok(frame) => out.extend(frame.ok_or_else(|| limit::too_large(largest))?),
            Err(_) if rest.is_empty() && !out.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(out)
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

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn frames_one_behind_the_other_are_one_text() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let (a, b) = (frame("one\n"), frame("two\n"));
        let torn = &b[..b.len() - 3];
        let mut wrong = b.clone();
        wrong[0] = 0;
        let table = [
            ("one", a.clone(), Some("one\n")),
            ("two", [&a[..], &b].concat(), Some("one\ntwo\n")),
            ("the last is torn", [&a[..], torn].concat(), Some("one\n")),
            ("nothing but a torn one", torn.to_vec(), None),
            ("damage in between", [&a[..], &wrong, &b].concat(), None),
        ];
        for (name, bytes, expected) in table {
            let found = unpacked(&bytes).ok();
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{name}");
        }
    }
}
