//! What the line formats have in common: places that people can find, and ids that are the same
//! each time.

use crate::prelude::*;

/// The lines of a file, each parsed, or the warning about it.
pub(crate) fn values(source: &Source) -> impl Iterator<Item = (u32, Result<Value, Warning>)> {
    (0u32..).zip(&*source.records).map(|(record, range)| {
        let value = raw::parse(&source.text[range.clone()]);
        (record, value.map_err(|error| unreadable(source, record, &error)))
    })
}

/// The same without lines that repeat an earlier one to the letter: where lines have no ids, the same text
/// with the same millisecond is the same line, appended twice.
pub(crate) fn values_once(source: &Source) -> impl Iterator<Item = (u32, Result<Value, Warning>)> {
    let copies = copies(source);
    values(source).filter(move |(record, _)| !copies.contains_key(record))
}

/// How sure the first `count` lines make an importer: the surest of those that hold an object counts.
pub(crate) fn surest(text: &str, count: usize, score: impl Fn(&str) -> u8) -> u8 {
    let lines = text.lines().take(count).filter(|line| line.starts_with('{'));
    let mut best = 0;
    for line in lines {
        best = score(line).max(best);
        if best == 100 {
            break;
        }
    }
    best
}

/// Records that repeat an earlier one to the letter, each with that one.
pub(crate) fn copies(source: &Source) -> BTreeMap<u32, u32> {
    let mut first: HashMap<&str, u32> = HashMap::new();
    let records = (0u32..).zip(&*source.records).filter_map(|(record, range)| {
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
    Warning::new(code, source.place(record), format!("{what} ({error}); skipped"))
}

/// An id in the form of a UUID, the same for the same seed (version 8, which RFC 9562 leaves to such
/// schemes).
pub(crate) fn uuid(seed: &str) -> String {
    let hash = blake3::hash(seed.as_bytes()).to_hex();
    let variant = ["8", "9", "a", "b"][usize::from(hash.as_bytes()[16] % 4)];
    format!(
        "{}-{}-8{}-{variant}{}-{}",
        &hash[..8],
        &hash[8..12],
        &hash[13..16],
        &hash[17..20],
        &hash[20..32]
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
