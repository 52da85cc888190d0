//! Byte ranges of JSON values.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// JSON text that cannot be walked, or that lacks what a pointer names.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RawError {
    /// Not JSON at this byte.
    #[error("byte {at}: expected {expected}")]
    Syntax {
        /// Offset into the text.
        at: usize,
        /// What should have been there.
        expected: String,
    },
    /// The pointer leads nowhere.
    #[error("nothing at `{pointer}`")]
    Missing {
        /// The pointer.
        pointer: String,
    },
}

/// A member of an object or an element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Child {
    /// Range of the key with its quotes; `None` in an array.
    pub(super) key: Option<Range<usize>>,
    /// Range of the value.
    pub(super) value: Range<usize>,
}

impl Child {
    /// Where the member begins: at its key, or at the value in an array.
    pub(super) fn start(&self) -> usize {
        self.key.as_ref().map_or(self.value.start, |key| key.start)
    }
}

/// The records of a text with one a line: the line's number (1-based) and the range without the line end. Lines
/// without content are left out. Objects side by side on one line, as interrupted or concurrent writers leave them, are
/// records of their own.
pub fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut start = 0;
    text.split_inclusive('\n').enumerate().flat_map(move |(index, line)| {
        let content = line.trim_end_matches(['\n', '\r']);
        let from = start;
        start += line.len();
        let pieces = if content.trim().is_empty() { Vec::new() } else { pieces(content) };
        pieces.into_iter().map(move |piece| (index + 1, from + piece.start..from + piece.end))
    })
}

/// The objects that a line consists of, and what is left of it. A line that is one value, or that does not even
/// begin with a whole object, is one piece.
fn pieces(line: &str) -> Vec<Range<usize>> {
    let all = 0..line.len();
    let whole = || vec![all.clone()];
    if !may_be_several(line) {
        return whole();
    }
    let mut pieces = Vec::new();
    for found in values(line) {
        match (found, pieces.is_empty()) {
            (Ok(range), _) if line.as_bytes()[range.start] == b'{' => pieces.push(range),
            (_, true) => return whole(),
            (Ok(range), false) => {
                pieces.push(range.start..line.trim_end().len());
                break;
            }
            (Err(start), false) => pieces.push(start..line.trim_end().len()),
        }
    }
    if pieces.len() > 1 { pieces } else { whole() }
}

/// Whether an object may end before the line does: the quick answer for almost all lines.
fn may_be_several(line: &str) -> bool {
    let line = line.trim_end();
    let mut ends = line.match_indices('}').map(|(at, _)| &line[at + 1..]);
    line.trim_start().starts_with('{') && ends.any(|rest| rest.trim_start().starts_with('{'))
}

/// The values that a text consists of, one after the other, however deep they are nested. If the text is not
/// JSON, the last one is the offset of the error.
pub fn values(text: &str) -> impl Iterator<Item = Result<Range<usize>, usize>> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    std::iter::from_fn(move || {
        let rest = &text[stream.byte_offset()..];
        let start = text.len() - rest.trim_start().len();
        let found = stream.next()?;
        Some(found.map(|value| start..start + value.get().len()).map_err(|_| start))
    })
    .fuse()
}

/// The ranges of [`numbered_lines`].
pub fn lines(text: &str) -> Vec<Range<usize>> {
    numbered_lines(text).map(|(_, range)| range).collect()
}

/// The range of the value that a JSON pointer names, inside `text`.
///
/// # Errors
///
/// The text is not JSON up to the value, or has no value there.
pub fn locate(text: &str, pointer: &str) -> Result<Range<usize>, RawError> {
    let missing = || RawError::Missing { pointer: pointer.to_owned() };
    let mut at = value(text, 0)?;
    for token in tokens(pointer) {
        let children = children(text, &at)?;
        let index = child_index(text, &children, &token).ok_or_else(missing)?;
        at = children[index].value.clone();
    }
    Ok(at)
}

/// The ranges of the elements of the array that a JSON pointer names.
///
/// # Errors
///
/// As for [`locate`], or the value is no array.
pub fn elements(text: &str, pointer: &str) -> Result<Vec<Range<usize>>, RawError> {
    let at = locate(text, pointer)?;
    if text.as_bytes().get(at.start) != Some(&b'[') {
        return Err(RawError::Syntax { at: at.start, expected: "an array".to_owned() });
    }
    Ok(children(text, &at)?.into_iter().map(|child| child.value).collect())
}

/// The unescaped reference tokens of a JSON pointer.
pub(super) fn tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|token| {
        if token.contains('~') {
            Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(token)
        }
    })
}

/// Index of the child that a reference token names. Of equal keys the last counts, as in parsing.
fn child_index(text: &str, children: &[Child], token: &str) -> Option<usize> {
    match children.first()?.key {
        Some(_) => children.iter().rposition(|child| {
            child.key.as_ref().is_some_and(|key| key_is(&text[key.clone()], token))
        }),
        None => token.parse::<usize>().ok().filter(|index| *index < children.len()),
    }
}

pub(super) fn key_is(quoted: &str, token: &str) -> bool {
    if quoted.contains('\\') {
        serde_json::from_str::<String>(quoted).is_ok_and(|key| key == token)
    } else {
        quoted.get(1..quoted.len() - 1) == Some(token)
    }
}

/// The members or elements of the object or array at `at`; none for a scalar.
pub(super) fn children(text: &str, at: &Range<usize>) -> Result<Vec<Child>, RawError> {
    let inside = text.get(at.clone()).unwrap_or_default();
    let found = match inside.as_bytes().first() {
        Some(b'{') => serde_json::from_str(inside).map(|Members(found)| found),
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(inside)
            .map(|values| values.into_iter().map(|value| (None, value)).collect()),
        _ => return Ok(Vec::new()),
    };
    // What was borrowed lies in the text; where is the distance of the addresses.
    let place = |raw: &RawValue| {
        let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        start..start + raw.get().len()
    };
    let found = found.map_err(|error| syntax(at.start, &error))?;
    Ok(found
        .into_iter()
        .map(|(key, value)| Child { key: key.map(place), value: place(value) })
        .collect())
}

/// The members of an object in order, each with its key as it is written.
struct Members<'a>(Vec<(Option<&'a RawValue>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry()? {
                    members.push((Some(key), value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The range of the value that begins at or after `from`.
pub(super) fn value(text: &str, from: usize) -> Result<Range<usize>, RawError> {
    let rest = text.get(from..).unwrap_or_default();
    let start = from + rest.len() - rest.trim_start().len();
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(value)) => Ok(start..start + value.get().len()),
        Some(Err(error)) => Err(syntax(start, &error)),
        None => Err(RawError::Syntax { at: start, expected: "a value".to_owned() }),
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn syntax(at: usize, error: &serde_json::Error) -> RawError {
    RawError::Syntax { at, expected: format!("JSON ({error})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_pointer() {
        let text = r#" {"a": [1, {"b/c": "x\"y", "~": null}, [] ], "a~": {"k": -1.5e3 }} "#;
        let table = [
            ("/a/0", "1"),
            ("/a/1/b~1c", r#""x\"y""#),
            ("/a/1/~0", "null"),
            ("/a/2", "[]"),
            ("/a~0/k", "-1.5e3"),
            ("/a~0", r#"{"k": -1.5e3 }"#),
        ];
        for (pointer, expected) in table {
            assert_eq!(&text[locate(text, pointer).unwrap()], expected, "{pointer}");
        }
        for pointer in ["/b", "/a/3", "/a/x", "/a/0/0"] {
            assert!(locate(text, pointer).is_err(), "{pointer}");
        }
    }

    #[test]
    fn elements_of_a_nested_array() {
        let text = r#"{"x":"]","m":[ {"a":"[,"} , 2,"three" ]}"#;
        let found: Vec<_> =
            elements(text, "/m").unwrap().into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, [r#"{"a":"[,"}"#, "2", r#""three""#]);
        assert!(elements(text, "/x").is_err());
        // Of two lists the last counts, however it is spelled, and what stands behind the object does not.
        let twice = r#"{"m":[1],"n":[7],"\u006d":[ 2, 3 ],"o":[]} {"m":[9]}"#;
        let found: Vec<_> =
            elements(twice, "/m").unwrap().into_iter().map(|range| &twice[range]).collect();
        assert_eq!(found, ["2", "3"]);
        assert!(elements(r#"{"m":[1],"m":2}"#, "/m").is_err());
        assert!(elements("[]", "").unwrap().is_empty());
        assert!(elements(r#"[1, {"a": "b"#, "").is_err());
    }

    #[test]
    fn lines_leave_out_blanks_and_line_ends() {
        let text = "{\"a\":1}\r\n\n  \n{\"b\":2}";
        let found: Vec<_> =
            numbered_lines(text).map(|(number, range)| (number, &text[range])).collect();
        assert_eq!(found, [(1, "{\"a\":1}"), (4, "{\"b\":2}")]);
    }

    #[test]
    fn lines_fall_into_pieces() {
        let table: &[(&str, &[&str])] = &[
            ("{\"a\":1}{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]),
            (" {\"a\":1} {\"b\":2} ", &["{\"a\":1}", "{\"b\":2}"]),
            ("{}\t{}{}", &["{}", "{}", "{}"]),
            ("{\"a\":1}{\"b\":", &["{\"a\":1}", "{\"b\":"]),
            ("{\"a\":1}{\"b\":2} 3 {}", &["{\"a\":1}", "{\"b\":2}", "3 {}"]),
            ("{\"a\":", &["{\"a\":"]),
            ("{\"a\":\"}{\"}", &["{\"a\":\"}{\"}"]),
            ("{\"a\":\"}{", &["{\"a\":\"}{"]),
            ("[{},{}]", &["[{},{}]"]),
            ("1 {\"a\":1}", &["1 {\"a\":1}"]),
            ("no", &["no"]),
        ];
        for (line, expected) in table {
            let text = format!("\n{line}\r\n");
            let found: Vec<_> = numbered_lines(&text).collect();
            assert!(found.iter().all(|(number, _)| *number == 2), "{line}");
            let found: Vec<_> = found.into_iter().map(|(_, range)| &text[range]).collect();
            assert_eq!(found, *expected, "{line}");
        }
    }
}
