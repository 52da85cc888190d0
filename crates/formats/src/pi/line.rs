//! The entries of a file, and which of them are the conversation.

use crate::prelude::*;
use std::ops::Range;

/// One entry.
pub(super) struct Entry {
    pub record: u32,
    pub value: Value,
    /// Its number as `firstKeptEntryIndex` counts: lines that pi itself could parse, from 0.
    pub index: Option<usize>,
}

impl Entry {
    pub(super) fn kind(&self) -> &str {
        value::text(&self.value, "type").unwrap_or_default()
    }

    pub(super) fn id(&self) -> Option<&str> {
        value::text(&self.value, "id")
    }

    pub(super) fn is_header(&self) -> bool {
        self.kind() == "session"
    }
}

/// All entries of a file in its own order, without those that repeat an earlier line.
pub(super) struct Entries {
    pub source: Source,
    pub entries: Vec<Entry>,
    /// Records that repeat an earlier one to the letter.
    pub copies: BTreeMap<u32, u32>,
    pub warnings: Vec<Warning>,
}

/// Parses a file. A line on which objects stand side by side, as an interrupted writer leaves it, is
/// as many records.
pub(super) fn parse(text: &str) -> Entries {
    let mut source = Source { text: text.into(), shape: Shape::Lines, records: Records::default() };
    let mut parsed: Vec<(Result<Value, serde_json::Error>, bool)> = Vec::new();
    let mut glued = Vec::new();
    for line in raw::lines(text) {
        match raw::parse(&text[line.clone()]) {
            Ok(value) => {
                source.records.push(line);
                parsed.push((Ok(value), true));
            }
            Err(error) => {
                let pieces = pieces(&text[line.clone()], error);
                if pieces.len() > 1 {
                    glued.push((source.records.len() as u32, pieces.len()));
                }
                for (range, piece) in pieces {
                    let range = line.start + range.start..line.start + range.end;
                    source.records.push(range);
                    parsed.push((piece, false));
                }
            }
        }
    }
    let mut out = Entries {
        warnings: glued
            .into_iter()
            .map(|(record, count)| {
                let detail = "values on one line, of which pi itself reads none; read one by one";
                Warning::new("glued-line", source.place(record), format!("{count} {detail}"))
            })
            .collect(),
        source,
        entries: Vec::new(),
        copies: BTreeMap::new(),
    };
    let mut first: HashMap<&str, u32> = HashMap::new();
    let mut index = 0;
    for (record, (parsed, whole)) in (0u32..).zip(parsed) {
        let Some(range) = out.source.records.get(record as usize) else {
            continue;
        };
        match parsed {
            Ok(value) if value.is_object() => {
                let own = whole.then_some(index);
                index += usize::from(whole);
                // Lines of version 1 have no ids; the same text at the same millisecond is the same.
                let original = *first.entry(&text[range.clone()]).or_insert(record);
                if original == record {
                    out.entries.push(Entry { record, value, index: own });
                } else {
                    out.copies.insert(record, original);
                }
            }
            Ok(_) => {
                let place = out.source.place(record);
                let detail = "an entry is an object; skipped";
                out.warnings.push(Warning::new("damaged-line", place, detail));
            }
            Err(error) => out.warnings.push(jsonl::unreadable(&out.source, record, &error)),
        }
    }
    out
}

/// A part of a line: where it lies, and what it holds.
type Piece = (Range<usize>, Result<Value, serde_json::Error>);

/// The objects that a line consists of, and what is left of it. A line that does not even begin with
/// a whole object is one damaged piece.
fn pieces(line: &str, error: serde_json::Error) -> Vec<Piece> {
    let mut stream = serde_json::Deserializer::from_str(line).into_iter::<Value>();
    let mut pieces = Vec::new();
    loop {
        let rest = &line[stream.byte_offset()..];
        let start = line.len() - rest.trim_start().len();
        match stream.next() {
            Some(Ok(value)) if value.is_object() => {
                pieces.push((start..stream.byte_offset(), Ok(value)));
            }
            None => return pieces,
            Some(Ok(_)) => return vec![(0..line.len(), Err(error))],
            Some(Err(found)) => {
                let found = if pieces.is_empty() { error } else { found };
                pieces.push((start..line.len(), Err(found)));
                return pieces;
            }
        }
    }
}

/// The entries that lead to the newest leaf, in order.
pub(super) struct Path {
    /// Indices into [`Entries::entries`].
    pub on: Vec<usize>,
    /// Messages of branches that were left: the first of them, and how many.
    pub abandoned: Option<(u32, usize)>,
    /// Entries whose parent is not in the file.
    pub dangling: Vec<u32>,
}

/// Walks from the last entry to the root. An entry without `parentId` follows the one before it, and
/// so does one whose parent is missing: the parent's line is damaged, its neighbors are not.
pub(super) fn path(entries: &[Entry]) -> Path {
    let body: Vec<usize> =
        (0..entries.len()).filter(|&index| !entries[index].is_header()).collect();
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (place, &index) in body.iter().enumerate() {
        if let Some(id) = entries[index].id() {
            by_id.entry(id).or_insert(place);
        }
    }
    let mut out = Path { on: Vec::new(), abandoned: None, dangling: Vec::new() };
    let mut seen = BTreeSet::new();
    let mut at = body.len().checked_sub(1);
    while let Some(place) = at {
        if !seen.insert(place) {
            break;
        }
        let entry = &entries[body[place]];
        at = match entry.value.get("parentId") {
            Some(Value::Null) => None,
            Some(parent) => match parent.as_str().and_then(|id| by_id.get(id)) {
                Some(&parent) => Some(parent),
                None => {
                    out.dangling.push(entry.record);
                    place.checked_sub(1)
                }
            },
            None => place.checked_sub(1),
        };
    }
    out.on = seen.iter().map(|&place| body[place]).collect();
    let left: Vec<&Entry> = (0..body.len())
        .filter(|place| !seen.contains(place))
        .map(|place| &entries[body[place]])
        .filter(|entry| entry.kind() == "message")
        .collect();
    out.abandoned = left.first().map(|first| (first.record, left.len()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fall_into_pieces() {
        let table: &[(&str, &[(&str, bool)])] = &[
            ("{\"a\":1}{\"b\":2}", &[("{\"a\":1}", true), ("{\"b\":2}", true)]),
            ("{\"a\":1} {\"b\":2} ", &[("{\"a\":1}", true), ("{\"b\":2}", true)]),
            ("{\"a\":1}{\"b\":", &[("{\"a\":1}", true), ("{\"b\":", false)]),
            ("{\"a\":", &[("{\"a\":", false)]),
            ("1 {\"a\":1}", &[("1 {\"a\":1}", false)]),
            ("no", &[("no", false)]),
        ];
        for (line, expected) in table {
            let error = serde_json::from_str::<Value>(line).unwrap_err();
            let found: Vec<(&str, bool)> = pieces(line, error)
                .into_iter()
                .map(|(range, piece)| (&line[range], piece.is_ok()))
                .collect();
            assert_eq!(found, *expected, "{line}");
        }
    }
}
