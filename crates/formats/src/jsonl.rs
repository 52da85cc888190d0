//! The common ground of line formats: places that people can find, copies of lines, and repeatable ids.

use crate::prelude::*;

/// The lines of a file, each parsed, or the warning about it.
pub(crate) fn values(source: &Source) -> impl Iterator<Item = (u32, Result<Value, Warning>)> {
    (0u32..).zip(&*source.records).map(|(record, range)| {
        let value = raw::parse(&source.text[range.clone()]);
        (record, value.map_err(|error| unreadable(source, record, &error)))
    })
}

/// The values of all lines, without [`copies`].
pub(crate) fn values_once(
    source: &Source,
    begins: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (u32, Result<Value, Warning>)> {
    let copies = copies(source, begins);
    values(source).filter(move |(record, _)| !copies.contains_key(record))
}

/// The records of a file that was appended to itself, each with the earlier one that it repeats: all that the file held
/// comes again, in its order, from the line on that `begins` it. A line that comes again alone is no copy: what was
/// done twice in a millisecond is recorded twice.
pub(crate) fn copies(source: &Source, begins: impl Fn(&str) -> bool) -> BTreeMap<u32, u32> {
    let mut copies = BTreeMap::new();
    let texts: Vec<&str> = source.records.iter().map(|range| &source.text[range.clone()]).collect();
    let Some(first) = texts.first().filter(|first| begins(first)) else { return copies };
    if !texts.iter().skip(1).any(|text| text == first) {
        return copies;
    }
    let common = common_with_the_beginning(&texts);
    let (mut at, mut length) = (1, None);
    while at < texts.len() {
        let all = length.unwrap_or(at);
        if common[at] < all {
            at += 1;
            continue;
        }
        copies.extend((0..all).map(|record| ((at + record) as u32, record as u32)));
        length = Some(all);
        at += all;
    }
    copies
}

/// For each place, the number of texts from there on that repeat the beginning of the list (the Z function).
fn common_with_the_beginning(texts: &[&str]) -> Vec<usize> {
    let mut common = vec![0; texts.len()];
    let (mut from, mut to) = (0, 0);
    for at in 1..texts.len() {
        let mut length = if at < to { common[at - from].min(to - at) } else { 0 };
        while texts.get(at + length).is_some_and(|text| *text == texts[length]) {
            length += 1;
        }
        if at + length > to {
            (from, to) = (at, at + length);
        }
        common[at] = length;
    }
    common
}

/// Code of the warning that values stand side by side on a line.
pub(crate) const GLUED: &str = "glued-line";

/// Warnings for lines that hold several values.
pub(crate) fn glued(source: &Source) -> Vec<Warning> {
    let beside = |pair: &[std::ops::Range<usize>]| match pair {
        [before, next] => source.text.get(before.end..next.start).is_some_and(|between| {
            between.bytes().all(|byte| byte.is_ascii_whitespace() && byte != b'\n')
        }),
        _ => false,
    };
    let mut lines: Vec<(u32, usize)> = Vec::new();
    let mut last = None;
    for (record, pair) in (0u32..).zip(source.records.windows(2)) {
        if !beside(pair) {
            continue;
        }
        match lines.last_mut().filter(|_| last == Some(record)) {
            Some((_, count)) => *count += 1,
            None => lines.push((record, 2)),
        }
        last = Some(record + 1);
    }
    let say = |(record, count): (u32, usize)| {
        let detail = format!("{count} values on one line; read one by one");
        Warning::new(GLUED, source.place(record), detail)
    };
    lines.into_iter().map(say).collect()
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
    fn only_a_whole_copy_is_one() {
        let table: &[(&str, &[(u32, u32)])] = &[
            ("h a b", &[]),
            ("h a a b b", &[]),
            ("h a b h a b", &[(3, 0), (4, 1), (5, 2)]),
            ("h a h a h a", &[(2, 0), (3, 1), (4, 0), (5, 1)]),
            ("h a h a b h a b", &[(2, 0), (3, 1), (5, 0), (6, 1)]),
            ("h a b h a c", &[]),
            ("a b a b", &[]),
            ("h h h", &[(1, 0), (2, 0)]),
        ];
        for (lines, expected) in table {
            let source = Source::lines(&lines.replace(' ', "\n"));
            let found: Vec<_> = copies(&source, |line| line == "h").into_iter().collect();
            assert_eq!(found, *expected, "{lines}");
        }
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
