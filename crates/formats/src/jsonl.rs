//! What the line formats have in common: places that people can find, ids that come out the same
//! each time.

use crate::prelude::*;

/// The lines of a file that parse, and warnings about the others.
pub(crate) fn values(source: &Source) -> (Vec<(u32, Value)>, Vec<Warning>) {
    let (mut values, mut warnings) = (Vec::new(), Vec::new());
    for (record, range) in (0u32..).zip(&source.records) {
        match raw::parse(&source.text[range.clone()]) {
            Ok(value) => values.push((record, value)),
            Err(error) => warnings.push(unreadable(source, record, &error)),
        }
    }
    (values, warnings)
}

/// Records that repeat an earlier one to the letter, each with that one.
pub(crate) fn copies(source: &Source) -> BTreeMap<u32, u32> {
    let mut first: HashMap<&str, u32> = HashMap::new();
    let records = (0u32..).zip(&source.records).filter_map(|(record, range)| {
        let original = *first.entry(&source.text[range.clone()]).or_insert(record);
        (original != record).then_some((record, original))
    });
    records.collect()
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
        place: source.place(record),
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
        assert_eq!(Source::lines("{}\n\n[1]\n").place(1), "line 3");
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
