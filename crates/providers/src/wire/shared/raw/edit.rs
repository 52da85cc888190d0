//! Changes values at JSON pointers and leaves every other byte alone.

use super::scan::{RawError, children, is_blank, key_is, tokens, value};
use foldback_core::work;
use serde_json::Value;
use std::borrow::Cow;

/// What to do at a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Replaces the value by this JSON text. A missing object member is added after the others; `-` appends to an array.
    Set(String),
    /// Removes the member or element, with its comma.
    Remove,
}

/// Applies `changes` one after the other, so pointers see the result of earlier changes. All other bytes stay. A new
/// member takes over the spacing of its neighbors.
///
/// # Errors
///
/// [`RawError::Missing`] if a pointer leads nowhere.
pub fn patch(raw: &str, changes: &[(String, Change)]) -> Result<String, RawError> {
    if changes.is_empty() {
        return Ok(raw.to_owned());
    }
    let at = value(raw, 0)?;
    let mut root = Node::Text(&raw[at.clone()]);
    for (pointer, change) in changes {
        root.apply(pointer, change)?;
    }
    let mut out = String::with_capacity(raw.len());
    out.push_str(&raw[..at.start]);
    root.write(&mut out);
    out.push_str(&raw[at.end..]);
    Ok(out)
}

/// A value. It is taken apart once a pointer leads into it, so that many changes scan a text once.
enum Node<'a> {
    Text(&'a str),
    Apart(Container<'a>),
}

impl<'a> Node<'a> {
    fn apply(&mut self, pointer: &str, change: &'a Change) -> Result<(), RawError> {
        let missing = || RawError::Missing { pointer: pointer.to_owned() };
        let path: Vec<_> = tokens(pointer).collect();
        let Some((last, parents)) = path.split_last() else {
            match change {
                Change::Set(new) => *self = Self::Text(new),
                Change::Remove => return Err(missing()),
            }
            return Ok(());
        };
        let mut at = self;
        for token in parents {
            let inside = at.apart()?.ok_or_else(missing)?;
            let index = inside.find(token).ok_or_else(missing)?;
            at = &mut inside.members[index].value;
        }
        let container = at.apart()?.ok_or_else(missing)?;
        match (change, container.find(last)) {
            (Change::Set(new), Some(index)) => container.members[index].value = Self::Text(new),
            (Change::Set(new), None) if container.is_object() => container.append(Some(last), new),
            (Change::Set(new), None) if last == "-" => container.append(None, new),
            (Change::Remove, Some(index)) => container.remove(index),
            _ => return Err(missing()),
        }
        Ok(())
    }

    /// The parts of the value; `None` for a scalar.
    fn apart(&mut self) -> Result<Option<&mut Container<'a>>, RawError> {
        if let Self::Text(text) = self
            && let Some(container) = Container::parse(text)?
        {
            *self = Self::Apart(container);
        }
        match self {
            Self::Text(_) => Ok(None),
            Self::Apart(container) => Ok(Some(container)),
        }
    }

    fn write(&mut self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Apart(container) => container.write(out),
        }
    }
}

/// An object or array.
struct Container<'a> {
    /// Up to its first bracket.
    open: &'a str,
    members: Vec<Member<'a>>,
    /// Behind the last member.
    close: &'a str,
    /// From its last bracket on: what is behind no member.
    end: &'a str,
    /// The first member that is marked as removed and is still in the list.
    gone_from: usize,
}

/// A member of an object or an element of an array.
struct Member<'a> {
    /// The blanks in front of it, and the comma.
    before: Cow<'a, str>,
    /// Its key with the quotes, and what stands between that and the value.
    key: Option<(Cow<'a, str>, &'a str)>,
    value: Node<'a>,
    /// Whether it was removed.
    gone: bool,
}

impl<'a> Container<'a> {
    /// The object or array that a text holds; `None` for a scalar.
    fn parse(text: &'a str) -> Result<Option<Self>, RawError> {
        let blank = |letter: char| u8::try_from(letter).is_ok_and(is_blank);
        let start = text.len() - text.trim_start_matches(blank).len();
        let end = text.trim_end_matches(blank).len();
        if !text[start..].starts_with(['{', '[']) {
            return Ok(None);
        }
        work::count(text.len() as u64);
        let mut from = start + 1;
        let mut members = Vec::new();
        for child in children(text, &(start..end))? {
            members.push(Member {
                before: Cow::Borrowed(&text[from..child.start()]),
                key: child.key.map(|key| {
                    (Cow::Borrowed(&text[key.clone()]), &text[key.end..child.value.start])
                }),
                value: Node::Text(&text[child.value.clone()]),
                gone: false,
            });
            from = child.value.end;
        }
        Ok(Some(Self {
            open: &text[..=start],
            members,
            close: &text[from..],
            end: &text[end - 1..],
            gone_from: usize::MAX,
        }))
    }

    fn is_object(&self) -> bool {
        self.open.ends_with('{')
    }

    /// Index of the member that a reference token names. Of equal keys the last counts, as in parsing.
    fn find(&mut self, token: &str) -> Option<usize> {
        if self.is_object() {
            return self.members.iter().rposition(|member| {
                let key = member.key.as_ref();
                !member.gone && key.is_some_and(|(key, _)| key_is(key, token))
            });
        }
        let index = token.parse::<usize>().ok()?;
        if index >= self.gone_from {
            self.settle();
        }
        (index < self.members.len()).then_some(index)
    }

    fn append(&mut self, key: Option<&str>, new: &'a str) {
        self.settle();
        let colon = self.members.first().and_then(|first| Some(first.key.as_ref()?.1));
        let before = match &self.members[..] {
            [] => {
                self.close = self.end;
                Cow::Borrowed("")
            }
            [only] => Cow::Owned(format!(",{}", only.before)),
            [.., last] => {
                let lead = last.before.trim_start().strip_prefix(',').unwrap_or("");
                Cow::Owned(format!(",{lead}"))
            }
        };
        self.members.push(Member {
            before,
            key: key.map(|key| (Cow::Owned(json_string(key)), colon.unwrap_or(":"))),
            value: Node::Text(new),
            gone: false,
        });
    }

    fn remove(&mut self, index: usize) {
        self.members[index].gone = true;
        self.gone_from = self.gone_from.min(index);
    }

    /// Removes the members that are gone. The next member takes the place of the first of them.
    fn settle(&mut self) {
        if self.gone_from == usize::MAX {
            return;
        }
        self.gone_from = usize::MAX;
        work::count(self.members.len() as u64);
        let mut before = None;
        for member in &mut self.members {
            if member.gone {
                before.get_or_insert_with(|| std::mem::take(&mut member.before));
            } else if let Some(before) = before.take() {
                member.before = before;
            }
        }
        self.members.retain(|member| !member.gone);
        if self.members.is_empty() {
            self.close = self.end;
        }
    }

    fn write(&mut self, out: &mut String) {
        self.settle();
        out.push_str(self.open);
        for Member { before, key, value, .. } in &mut self.members {
            out.push_str(before);
            if let Some((key, colon)) = key {
                out.push_str(key);
                out.push_str(colon);
            }
            value.write(out);
        }
        out.push_str(self.close);
    }
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
    use proptest::prelude::*;
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

    /// JSON of lists, objects and numbers, with blanks in many places.
    fn json_text() -> impl Strategy<Value = String> {
        let blank = || prop::sample::select(vec!["", "", " ", "\n  "]);
        let scalar = prop::sample::select(vec!["1", "\"a\"", "[]", "{}", "[ ]", "{ }"]);
        scalar.prop_map(str::to_owned).prop_recursive(3, 24, 5, move |inner| {
            let members = prop::collection::vec((blank(), inner, blank()), 0..5);
            (members, any::<bool>(), blank()).prop_map(|(members, is_list, colon)| {
                let of =
                    |(number, (lead, value, end)): (usize, &(&str, String, &str))| match is_list {
                        true => format!("{lead}{value}{end}"),
                        false => format!("{lead}\"{number}\":{colon}{value}{end}"),
                    };
                let inside: Vec<String> = members.iter().enumerate().map(of).collect();
                let inside = inside.join(",");
                if is_list { format!("[{inside}]") } else { format!("{{{inside}}}") }
            })
        })
    }

    fn change() -> impl Strategy<Value = (String, Change)> {
        let token = prop::sample::select(vec!["0", "1", "2", "3", "-", "n"]);
        let pointer =
            prop::collection::vec(token, 1..4).prop_map(|tokens| format!("/{}", tokens.join("/")));
        let what = prop_oneof![
            2 => json_text().prop_map(Change::Set),
            3 => Just(Change::Remove),
        ];
        (pointer, what)
    }

    proptest! {
        /// Each change starts from the result of the one before.
        #[test]
        fn changes_at_once_are_changes_one_by_one(
            raw in json_text(),
            changes in prop::collection::vec(change(), 0..60),
        ) {
            let (mut done, mut text) = (Vec::new(), raw.clone());
            for change in changes {
                // Pointers that lead nowhere are left out.
                if let Ok(after) = patch(&text, std::slice::from_ref(&change)) {
                    text = after;
                    done.push(change);
                }
            }
            prop_assert_eq!(patch(&raw, &done), Ok(text));
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
