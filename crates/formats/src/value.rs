//! Reads from parsed JSON: what files need in addition to requests.

use crate::session::Source;
use crate::time::parse_rfc3339;
use crate::{ReadError, raw};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

pub(crate) use foldback_providers::wire::shared::value::*;

/// Parses a whole document.
///
/// # Errors
///
/// [`ReadError::Malformed`] with line and column; a text that just ends says so.
pub(crate) fn document(text: &str) -> Result<Value, ReadError> {
    raw::parse(text).map_err(|error| ReadError::Malformed {
        place: format!("line {}, column {}", error.line(), error.column()),
        detail: if error.is_eof() {
            "the JSON document ends in the middle; the file is truncated or still being written"
                .to_owned()
        } else {
            format!("not JSON: {error}")
        },
    })
}

/// A document that is not shaped as its format wants it.
pub(crate) fn malformed(place: &str, detail: impl Into<String>) -> ReadError {
    ReadError::Malformed { place: place.to_owned(), detail: detail.into() }
}

/// The list at a JSON pointer; `detail` says what is missing where there is none.
pub(crate) fn records<'a>(
    root: &'a Value,
    list: &str,
    detail: &str,
) -> Result<&'a [Value], ReadError> {
    let found = root.pointer(list).and_then(Value::as_array);
    found.map(Vec::as_slice).ok_or_else(|| malformed(list, detail))
}

/// A document whose records are the elements of the list at a JSON pointer.
pub(crate) fn source(text: &str, list: &str) -> Result<Source, ReadError> {
    Source::document(text, list).map_err(|error| malformed(list, error.to_string()))
}

/// Where the elements of the list at a JSON pointer stand.
pub(crate) fn elements(text: &str, list: &str) -> Result<Vec<Range<usize>>, ReadError> {
    raw::elements(text, list).map_err(|error| malformed(list, error.to_string()))
}

/// The RFC 3339 timestamp in the member `key`.
pub(crate) fn time(value: &Value, key: &str) -> Option<i64> {
    parse_rfc3339(text(value, key)?)
}

/// A time in milliseconds at a JSON pointer.
pub(crate) fn millis(value: &Value, pointer: &str) -> Option<i64> {
    let found = value.pointer(pointer)?;
    found.as_i64().or_else(|| found.as_f64().map(|float| float as i64))
}

/// A time in seconds at a JSON pointer, in milliseconds. One that would be thousands of years off is in milliseconds.
pub(crate) fn seconds(value: &Value, pointer: &str) -> Option<i64> {
    let time = value.pointer(pointer)?.as_f64()?;
    Some(if time.abs() < 1e11 { time * 1000.0 } else { time } as i64)
}

/// The model named most often; of equal ones the earliest.
pub(crate) fn most_common<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    // By name, how often and where first.
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for (at, name) in names.enumerate() {
        counts.entry(name).or_insert((0, at)).0 += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, (count, first))| (*count, Reverse(*first)))?;
    Some(most.0.to_owned())
}

/// An id made from the content of a file without an id.
pub(crate) fn content_id(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("session-{}", &hash[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn seconds_are_told_from_milliseconds() {
        for (time, expected) in [
            (json!(1764243060), Some(1764243060000)),
            (json!(1764243060.5), Some(1764243060500)),
            (json!(1764243060500i64), Some(1764243060500)),
            (json!("soon"), None),
        ] {
            assert_eq!(seconds(&json!({"at": time}), "/at"), expected);
        }
    }

    #[test]
    fn the_model_named_most_often_wins() {
        assert_eq!(most_common(["a", "b", "b", "a", "c"].into_iter()).as_deref(), Some("a"));
        assert_eq!(most_common(std::iter::empty()), None);
    }
}
