//! Puts a document together from its records.

use super::edit::pretty_like;
use super::scan::is_blank;
use crate::wire::shared::source::{Shape, Source};
use serde_json::Value;
use std::borrow::Cow;

/// One record of the document to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A record of the source as it is.
    Keep(u32),
    /// A record of the source in a changed form (JSON text).
    Changed(u32, String),
    /// A new record, laid out like its neighbors.
    New(Value),
}

/// The source with `items` in place of its records. Text around the records stays, records that are
/// kept keep the blanks in front of them, and if all are kept in order the result is the source.
pub fn rebuild(source: &Source, items: &[Item]) -> String {
    let (Some(first), Some(last)) = (source.records.first(), source.records.last()) else {
        return source.text.to_string();
    };
    let text = &*source.text;
    let lead = |index: usize| -> &str {
        let end = source.records[index].start;
        &text[blanks(source, 0, end)..end]
    };
    let head = &text[..first.start - lead(0).len()];
    let tail = &text[last.end..];
    let new_lead = lead(source.records.len().min(2) - 1);
    let separator = match source.shape {
        Shape::Lines => "\n",
        Shape::Document => ",",
    };

    let mut out = String::with_capacity(text.len());
    out.push_str(head);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push_str(separator_after(source, &items[place - 1], item).unwrap_or(separator));
        }
        let (before, body): (&str, Cow<'_, str>) = match item {
            Item::Keep(record) => match source.record(*record) {
                Some(raw) => (lead(*record as usize), Cow::Borrowed(raw)),
                None => continue,
            },
            Item::Changed(record, raw) if (*record as usize) < source.records.len() => {
                (lead(*record as usize), Cow::Borrowed(raw))
            }
            Item::Changed(_, raw) => (new_lead, Cow::Borrowed(raw)),
            Item::New(value) => (new_lead, Cow::Owned(pretty_like(value, new_lead))),
        };
        out.push_str(before);
        out.push_str(&body);
    }
    out.push_str(tail);
    out
}

/// The text between two records that follow each other in the source as well, up to the blanks in
/// front of the second: a comma with blanks before it, blank lines, `\r\n`.
fn separator_after<'a>(source: &'a Source, before: &Item, item: &Item) -> Option<&'a str> {
    let index = |item: &Item| match item {
        Item::Keep(record) | Item::Changed(record, _) => Some(*record as usize),
        Item::New(_) => None,
    };
    let (before, next) = (index(before)?, index(item)?);
    if before + 1 != next {
        return None;
    }
    let (from, to) = (source.records.get(before)?.end, source.records.get(next)?.start);
    source.text.get(from..blanks(source, from, to))
}

/// Where the blanks begin that stand in front of `end`, not before `from`.
fn blanks(source: &Source, from: usize, end: usize) -> usize {
    let line_end = |byte: u8| source.shape == Shape::Lines && byte == b'\n';
    let before = source.text.as_bytes().get(from..end).unwrap_or_default();
    let last = before.iter().rposition(|byte| !is_blank(*byte) || line_end(*byte));
    from + last.map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::{elements, lines};
    use super::*;
    use serde_json::json;

    fn document(text: &str, pointer: &str) -> Source {
        Source {
            text: text.into(),
            shape: Shape::Document,
            records: elements(text, pointer).unwrap().into(),
        }
    }

    #[test]
    fn documents() {
        let pretty = "{\n  \"m\": [\n    1 ,\n    2,\n    3\n  ]\n}\n";
        let table: &[(&str, Vec<Item>, &str)] = &[
            (pretty, vec![Item::Keep(0), Item::Keep(1), Item::Keep(2)], pretty),
            (pretty, vec![Item::Keep(0), Item::Keep(2)], "{\n  \"m\": [\n    1,\n    3\n  ]\n}\n"),
            (pretty, vec![Item::Keep(2)], "{\n  \"m\": [\n    3\n  ]\n}\n"),
            (pretty, vec![], "{\n  \"m\": [\n  ]\n}\n"),
            (
                pretty,
                vec![Item::New(json!({"a": 1})), Item::Changed(1, "22".into())],
                "{\n  \"m\": [\n    {\n      \"a\": 1\n    },\n    22\n  ]\n}\n",
            ),
            (r#"{"m":[ 1, 2 ]}"#, vec![Item::Keep(0), Item::Keep(1)], r#"{"m":[ 1, 2 ]}"#),
            (r#"{"m":[1, 2]}"#, vec![Item::Keep(1), Item::New(json!([]))], r#"{"m":[ 2, []]}"#),
        ];
        for (text, items, expected) in table {
            assert_eq!(rebuild(&document(text, "/m"), items), *expected, "{items:?}");
        }
    }

    #[test]
    fn lines_of_a_file() {
        let text = "{\"a\":1}\r\n\n{\"b\":2}\n{\"c\":3}\n";
        let source = Source { text: text.into(), shape: Shape::Lines, records: lines(text).into() };
        let all = [Item::Keep(0), Item::Keep(1), Item::Keep(2)];
        assert_eq!(rebuild(&source, &all), text);
        assert_eq!(
            rebuild(&source, &[Item::Keep(0), Item::New(json!({"n": 0})), Item::Keep(2)]),
            "{\"a\":1}\n{\"n\":0}\n{\"c\":3}\n"
        );
    }
}
