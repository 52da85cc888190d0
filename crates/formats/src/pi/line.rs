//! The entries of a file, and which of them are the conversation.

use crate::prelude::*;

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

/// Parses a file.
pub(super) fn parse(text: &str) -> Entries {
    let source = Source::lines(text);
    let mut copies = jsonl::copies(&source, |line| {
        // oh-my-pi has the title in front.
        ["session", "title"].iter().any(|kind| peek(line).is("/type", kind))
    });
    let (mut entries, mut warnings) = (Vec::new(), Vec::new());
    let mut first: HashMap<&str, u32> = HashMap::new();
    let mut index = 0;
    for (record, parsed) in jsonl::values(&source) {
        let value = match parsed {
            Ok(value) if value.is_object() => value,
            Ok(_) => {
                let detail = "an entry is an object; skipped";
                warnings.push(Warning::new("damaged-line", source.place(record), detail));
                continue;
            }
            Err(warning) => {
                warnings.push(warning);
                continue;
            }
        };
        // pi itself reads no line with more than one object on it.
        let own = (!is_beside_another(&source, record)).then_some(index);
        index += usize::from(own.is_some());
        // An entry with an id is the same entry wherever it comes again.
        let named = value::text(&value, "id").and(source.record(record));
        let original = named.map_or(record, |text| *first.entry(text).or_insert(record));
        if original != record {
            copies.insert(record, original);
        }
        if !copies.contains_key(&record) {
            entries.push(Entry { record, value, index: own });
        }
    }
    Entries { source: source.clone(), entries, copies, warnings }
}

/// Whether a record shares its line with another.
fn is_beside_another(source: &Source, record: u32) -> bool {
    let between = |before: u32, next: u32| {
        let end = source.records.get(before as usize)?.end;
        source.text.get(end..source.records.get(next as usize)?.start)
    };
    let same_line = |between: Option<&str>| between.is_some_and(|text| !text.contains('\n'));
    record.checked_sub(1).is_some_and(|before| same_line(between(before, record)))
        || same_line(between(record, record + 1))
}

/// The entries that lead to the newest leaf, in order.
pub(super) struct Path {
    /// Indices into [`Entries::entries`].
    pub on: Vec<usize>,
    /// Messages of branches that were left, as indices.
    pub abandoned: Vec<usize>,
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
    let mut out = Path { on: Vec::new(), abandoned: Vec::new(), dangling: Vec::new() };
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
    out.abandoned = (0..body.len())
        .filter(|place| !seen.contains(place))
        .map(|place| body[place])
        .filter(|index| entries[*index].kind() == "message")
        .collect();
    out
}
