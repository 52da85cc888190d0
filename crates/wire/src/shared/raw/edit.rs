//! Changes at JSON pointers that leave every other byte alone.

use super::scan::{Child, RawError, child_index, children, tokens, value};
use serde_json::Value;
use std::ops::Range;

/// What to do at a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Puts this JSON text in place of the value. An object member that is not there yet is added
    /// after the others; `-` appends to an array.
    Set(String),
    /// Takes the member or element out, with its comma.
    Remove,
}

/// Applies `changes` one after the other (so pointers see the result of earlier changes) and leaves
/// every byte that they do not concern as it was. A new member takes over the spacing of its
/// neighbours.
///
/// # Errors
///
/// [`RawError::Missing`] where a pointer leads nowhere.
pub fn patch(raw: &str, changes: &[(String, Change)]) -> Result<String, RawError> {
    let mut text = raw.to_owned();
    for (pointer, change) in changes {
        text = apply(&text, pointer, change)?;
    }
    Ok(text)
}

fn apply(text: &str, pointer: &str, change: &Change) -> Result<String, RawError> {
    let missing = || RawError::Missing { pointer: pointer.to_owned() };
    let mut at = value(text, 0)?;
    let path: Vec<_> = tokens(pointer).collect();
    let Some((last, parents)) = path.split_last() else {
        return match change {
            Change::Set(new) => Ok(splice(text, at, new)),
            Change::Remove => Err(missing()),
        };
    };
    for token in parents {
        let inside = children(text, &at)?;
        let index = child_index(text, &inside, token).ok_or_else(missing)?;
        at = inside[index].value.clone();
    }
    let container = Container::new(text, at)?;
    let index = child_index(text, &container.children, last);
    match (change, index) {
        (Change::Set(new), Some(index)) => {
            Ok(splice(text, container.children[index].value.clone(), new))
        }
        (Change::Set(new), None) if container.is_object() => Ok(container.append(Some(last), new)),
        (Change::Set(new), None) if container.is_array() && last == "-" => {
            Ok(container.append(None, new))
        }
        (Change::Remove, Some(index)) => Ok(container.remove(index)),
        _ => Err(missing()),
    }
}

/// An object or array with its children.
struct Container<'a> {
    text: &'a str,
    at: Range<usize>,
    children: Vec<Child>,
}

impl<'a> Container<'a> {
    fn new(text: &'a str, at: Range<usize>) -> Result<Self, RawError> {
        let children = children(text, &at)?;
        Ok(Self { text, at, children })
    }

    fn is_object(&self) -> bool {
        self.text[self.at.clone()].starts_with('{')
    }

    fn is_array(&self) -> bool {
        self.text[self.at.clone()].starts_with('[')
    }

    /// The blanks in front of the first child: what a new one should have, too.
    fn lead(&self) -> &'a str {
        self.children.first().map_or("", |first| &self.text[self.at.start + 1..first.start()])
    }

    /// What stands between key and value of the first member.
    fn colon(&self) -> &'a str {
        self.children
            .first()
            .and_then(|first| Some(&self.text[first.key.as_ref()?.end..first.value.start]))
            .unwrap_or(":")
    }

    fn append(&self, key: Option<&str>, new: &str) -> String {
        let member = match key {
            Some(key) => format!("{}{}{new}", json_string(key), self.colon()),
            None => new.to_owned(),
        };
        let Some((last, others)) = self.children.split_last() else {
            return splice(self.text, self.at.start + 1..self.at.end - 1, &member);
        };
        let lead = match others.last() {
            Some(before) => self.text[before.value.end..last.start()]
                .trim_start()
                .strip_prefix(',')
                .unwrap_or(""),
            None => self.lead(),
        };
        let end = last.value.end;
        splice(self.text, end..end, &format!(",{lead}{member}"))
    }

    fn remove(&self, index: usize) -> String {
        let child = &self.children[index];
        let range = match (self.children.get(index + 1), index) {
            (Some(next), _) => child.start()..next.start(),
            (None, 0) => self.at.start + 1..self.at.end - 1,
            (None, _) => self.children[index - 1].value.end..child.value.end,
        };
        splice(self.text, range, "")
    }
}

fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    let mut out = String::with_capacity(text.len() + with.len());
    out.push_str(&text[..range.start]);
    out.push_str(with);
    out.push_str(&text[range.end..]);
    out
}

/// A string as JSON text.
pub fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

/// JSON text of a value that is to stand after `lead`: spread over lines where `lead` starts a new
/// one, indented like it, and compact otherwise.
pub(super) fn pretty_like(value: &Value, lead: &str) -> String {
    let Some((_, indent)) = lead.rsplit_once('\n') else {
        return value.to_string();
    };
    // The alternate form indents by two blanks; line breaks inside strings are escaped.
    format!("{value:#}").replace('\n', &format!("\n{indent}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(pointer: &str, new: &str) -> (String, Change) {
        (pointer.to_owned(), Change::Set(new.to_owned()))
    }
    fn remove(pointer: &str) -> (String, Change) {
        (pointer.to_owned(), Change::Remove)
    }

    #[test]
    fn patches_change_what_they_name_and_nothing_else() {
        type Row<'a> = (&'a str, Vec<(String, Change)>, &'a str);
        let table: &[Row<'_>] = &[
            (r#"{"a" : 1.50}"#, vec![], r#"{"a" : 1.50}"#),
            (r#"{"a":1, "b":"\u00e9"}"#, vec![set("/a", "2")], r#"{"a":2, "b":"\u00e9"}"#),
            (r#"{"a":{}}"#, vec![set("/a/n", "1")], r#"{"a":{"n":1}}"#),
            (r#"{"a":{ }}"#, vec![set("/a/n", "1")], r#"{"a":{"n":1}}"#),
            (r#"{"s": 1, "e": 2}"#, vec![set("/c", "3")], r#"{"s": 1, "e": 2, "c": 3}"#),
            ("{\n  \"s\": 1\n}", vec![set("/c", "3")], "{\n  \"s\": 1,\n  \"c\": 3\n}"),
            ("{ \"s\":1, \"t\":2 }", vec![set("/c", "3")], "{ \"s\":1, \"t\":2, \"c\":3 }"),
            (r#"{"s":1,"c":2}"#, vec![remove("/c")], r#"{"s":1}"#),
            ("{\n \"s\":1,\n \"c\":2\n}", vec![remove("/s")], "{\n \"c\":2\n}"),
            (r#"{"a":1,"b":2,"c":3}"#, vec![remove("/b"), remove("/c")], r#"{"a":1}"#),
            (r#"{"a":1}"#, vec![remove("/a")], "{}"),
            ("[1, 2, 3]", vec![remove("/1")], "[1, 3]"),
            ("[1, 2, 3]", vec![remove("/2")], "[1, 2]"),
            ("[\n 1,\n 2\n]", vec![set("/-", "3")], "[\n 1,\n 2,\n 3\n]"),
            ("[1, 2]", vec![set("/-", "3")], "[1, 2, 3]"),
            ("[]", vec![set("/-", "1"), set("/-", "2")], "[1,2]"),
            ("3", vec![set("", "4")], "4"),
        ];
        for (raw, changes, expected) in table {
            assert_eq!(patch(raw, changes).unwrap(), *expected, "{raw} {changes:?}");
        }
    }

    #[test]
    fn a_pointer_that_leads_nowhere_is_an_error() {
        for change in [set("/b/c", "1"), remove("/b"), set("/a/-", "1"), remove("")] {
            assert_eq!(
                patch(r#"{"a":1}"#, std::slice::from_ref(&change)),
                Err(RawError::Missing { pointer: change.0.clone() }),
                "{change:?}"
            );
        }
    }

    #[test]
    fn new_values_follow_the_layout_around_them() {
        let value = json!({"a": ["x\ny"]});
        assert_eq!(pretty_like(&value, ""), r#"{"a":["x\ny"]}"#);
        assert_eq!(
            pretty_like(&value, "\n    "),
            "{\n      \"a\": [\n        \"x\\ny\"\n      ]\n    }"
        );
    }
}
