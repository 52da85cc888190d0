//! What the line formats have in common: places that people can find, ids that come out the same
//! each time.

use crate::raw;
use crate::session::{Shape, Source, Warning};
use std::sync::Arc;

/// A text whose records are its lines.
pub(crate) fn source(text: &str) -> Source {
    Source { text: Arc::from(text), shape: Shape::Lines, records: raw::lines(text) }
}

/// The number of the line that a record stands on, as an editor shows it.
pub(crate) fn place(source: &Source, record: u32) -> String {
    let start = source.records.get(record as usize).map_or(source.text.len(), |range| range.start);
    format!("line {}", raw::position(&source.text, start).0)
}

/// The warning for a record that does not parse. The last line of a file that is still being written
/// is told from damage.
pub(crate) fn unreadable(source: &Source, record: u32, error: &serde_json::Error) -> Warning {
    let last = record as usize + 1 == source.records.len() && !source.text.ends_with('\n');
    let (code, what) = if last {
        ("truncated-line", "the last line ends in the middle")
    } else {
        ("damaged-line", "not a line of this format")
    };
    Warning {
        code: code.to_owned(),
        place: place(source, record),
        detail: format!("{what} ({error}); skipped"),
    }
}

/// An id in the form of a UUID, the same for the same seed (FNV-1a over the seed and over the seed
/// with a suffix; version 8, which RFC 9562 leaves to such schemes).
pub(crate) fn uuid(seed: &str) -> String {
    let hash = |suffix: &[u8]| {
        seed.bytes().chain(suffix.iter().copied()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    let (high, low) = (hash(b"/0"), hash(b"/1"));
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_blank_lines() {
        let source = source("{}\n\n[1]\n");
        assert_eq!(place(&source, 1), "line 3");
    }

    #[test]
    fn ids_have_the_form_and_repeat() {
        let id = uuid("a");
        assert_eq!(id, uuid("a"));
        assert_ne!(id, uuid("b"));
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'8');
    }
}
