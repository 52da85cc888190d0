//! Members of a file of JSON, which may have comments as editors' settings do. Each is written behind the brace of the
//! innermost object that exists, so that nothing else of the file moves.

use super::{Refusal, Settings};
use serde_json::Value;
use std::ops::Range;

/// Members: the place of each, and its value.
pub(super) struct Members(pub(super) Vec<(&'static [&'static str], Value)>);

impl Members {
    /// The members as one object.
    fn tree(&self) -> Value {
        let mut tree = Value::Object(serde_json::Map::new());
        for (place, value) in &self.0 {
            let at = place.iter().fold(&mut tree, |object, name| &mut object[*name]);
            *at = value.clone();
        }
        tree
    }

    /// The places where these values stand in a text.
    pub(super) fn there(&self, text: &str) -> Vec<String> {
        self.members(text, true).into_iter().map(|(place, _)| place).collect()
    }

    /// The member at a place of which the first names exist, as it is written. What it needs around it is on one line, so
    /// that it can't be taken for one in an object that was there.
    fn member(&self, in_empty: bool, place: &[&str], depth: usize) -> String {
        let (outer, inner) = ("  ".repeat(depth), "  ".repeat(depth + 1));
        let tree = self.tree();
        let value = place[..=depth].iter().fold(&tree, |object, name| &object[*name]);
        let end = if in_empty { format!("\n{outer}") } else { ",".to_owned() };
        format!("\n{inner}{}: {}{end}", Value::from(place[depth]), line(value))
    }
}

/// Whether JSON is this value.
fn says(found: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(found).is_ok_and(|found| found == *value)
}

/// A value on one line.
fn line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("\"{name}\": {}", line(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

impl Settings for Members {
    const NEW: &'static str = "{}\n\n";

    fn set(&self, text: &str) -> Result<Option<String>, Refusal> {
        let mut set = text.to_owned();
        for (place, value) in &self.0 {
            let (objects, found) = walk(&set, place)?;
            match (found, objects.last()) {
                (Some(found), _) if says(found, value) => {}
                (Some(found), _) => {
                    let name = place.join(".");
                    return Err(format!(
                        "it sets {name} to {found} already; foldback would hide that"
                    ));
                }
                (None, Some(object)) => {
                    let member = self.member(object.entries.is_empty(), place, objects.len() - 1);
                    set.insert_str(object.inside, &member);
                }
                (None, None) => {}
            }
        }
        Ok((set != text).then_some(set))
    }

    fn unset(&self, text: &str) -> Result<Option<String>, Refusal> {
        let (mut unset, tree) = (text.to_owned(), self.tree());
        for (place, value) in self.0.iter().rev() {
            let (objects, Some(found)) = walk(&unset, place)? else { continue };
            // Somebody else's.
            if !says(found, value) {
                continue;
            }
            // What is spelled as it is written came with it. If a program has rewritten the file, only the member goes.
            let mut written = &tree;
            let spelled = objects.iter().position(|object| {
                let Some(entry) = object.named() else { return false };
                written = &written[&entry.name];
                let member = format!("{}: {}", Value::from(&*entry.name), line(written));
                unset[entry.start..entry.end] == member
            });
            let depth = spelled.unwrap_or(objects.len() - 1);
            if let Some((range, rest)) = objects[depth].without(&unset, depth) {
                unset.replace_range(range, &rest);
            }
        }
        Ok((unset != text).then_some(unset))
    }

    fn members(&self, text: &str, remove: bool) -> Vec<(String, Value)> {
        let are = self.0.iter().filter(|(place, value)| {
            let found = walk(text, place).ok().and_then(|(_, found)| found);
            found.is_some_and(|found| says(found, value)) == remove
        });
        are.map(|(place, value)| (place.join("."), value.clone())).collect()
    }
}

/// An object in a text.
struct Object {
    /// Behind its opening brace.
    inside: usize,
    entries: Vec<Entry>,
    /// Index of the member that the place names.
    named: Option<usize>,
}

/// A member of an object.
struct Entry {
    name: String,
    /// Behind the brace or the comma before it.
    behind: usize,
    start: usize,
    value: usize,
    end: usize,
    /// Behind the comma after it.
    comma: Option<usize>,
}

impl Object {
    fn named(&self) -> Option<&Entry> {
        self.entries.get(self.named?)
    }

    /// Where the member that the place names stands with its comma, and the comments there, which stay.
    fn without(&self, text: &str, depth: usize) -> Option<(Range<usize>, String)> {
        let (index, entry) = (self.named?, self.named()?);
        let line_end = format!("\n{}", "  ".repeat(depth));
        let range = match entry.comma {
            Some(comma) => entry.behind..comma,
            None if index > 0 => entry.behind - 1..entry.end,
            None if text[entry.end..].starts_with(&line_end) => {
                entry.behind..entry.end + line_end.len()
            }
            None => entry.behind..entry.end,
        };
        let after = entry.comma.map_or("", |comma| &text[entry.end..comma - 1]);
        let blanks = [&text[entry.behind..entry.start], after];
        let comments = blanks.into_iter().filter(|blank| !blank.trim().is_empty());
        Some((range, comments.collect()))
    }
}

/// The objects that lead to a place, outermost first, and what stands there, as it is spelled.
fn walk<'t>(text: &'t str, place: &[&str]) -> Result<(Vec<Object>, Option<&'t str>), Refusal> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    reader.blank()?;
    let mut value = reader.at..text.len();
    reader.value()?;
    reader.blank()?;
    if !reader.rest().is_empty() {
        return Err(reader.expected("the end"));
    }
    let mut objects = Vec::new();
    for (depth, name) in place.iter().enumerate() {
        let mut reader = Reader { text, at: value.start, depth: 0 };
        if !reader.rest().starts_with('{') {
            let what = if depth == 0 { "it".to_owned() } else { place[..depth].join(".") };
            return Err(format!("line {}: {what} is no object", reader.line()));
        }
        let entries = reader.members()?;
        // Programs take the last of several members of a name.
        let named = entries.iter().rposition(|entry| entry.name == *name);
        let object = Object { inside: value.start + 1, entries, named };
        let next = object.named().map(|entry| entry.value..entry.end);
        objects.push(object);
        match next {
            Some(next) => value = next,
            None => return Ok((objects, None)),
        }
    }
    Ok((objects, Some(&text[value])))
}

/// Objects in one another before a file is refused.
const DEEPEST: usize = 100;

#[derive(Clone)]
struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }

    fn expected(&self, what: &str) -> Refusal {
        format!("line {}: it is no JSON: {what} is missing here", self.line())
    }

    /// Goes over a text that must be next.
    fn take(&mut self, next: &str) -> bool {
        let found = self.rest().starts_with(next);
        if found {
            self.at += next.len();
        }
        found
    }

    /// Goes over white space and comments.
    fn blank(&mut self) -> Result<(), Refusal> {
        loop {
            let rest = self.rest();
            let text =
                rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\u{feff}');
            self.at += rest.len() - text.len();
            if text.starts_with("//") {
                self.at += text.find('\n').unwrap_or(text.len());
            } else if text.starts_with("/*") {
                self.at += text.find("*/").ok_or_else(|| self.expected("*/"))? + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// Goes over a value.
    fn value(&mut self) -> Result<(), Refusal> {
        match self.rest().chars().next() {
            Some('{') => self.members().map(drop),
            Some('[') => self.elements(),
            Some('"') => self.string().map(drop),
            _ => {
                let ends = |c: char| c.is_ascii_whitespace() || ",]}/".contains(c);
                let rest = self.rest();
                let scalar = &rest[..rest.find(ends).unwrap_or(rest.len())];
                let read = serde_json::from_str::<Value>(scalar);
                read.map_err(|_| self.expected("a value"))?;
                self.at += scalar.len();
                Ok(())
            }
        }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        let mut read = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
        match read.next() {
            Some(Ok(string)) => {
                self.at += read.byte_offset();
                Ok(string)
            }
            _ => Err(self.expected("a name or a text in quotes")),
        }
    }

    fn deeper(&mut self) -> Result<(), Refusal> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(format!("line {}: too much is nested here", self.line())),
            false => Ok(()),
        }
    }

    /// Goes over an object, and gives its members.
    fn members(&mut self) -> Result<Vec<Entry>, Refusal> {
        self.deeper()?;
        self.take("{");
        let mut members = Vec::new();
        loop {
            let behind = self.at;
            self.blank()?;
            if self.take("}") {
                break;
            }
            let start = self.at;
            let name = self.string()?;
            self.blank()?;
            if !self.take(":") {
                return Err(self.expected(":"));
            }
            self.blank()?;
            let value = self.at;
            self.value()?;
            let end = self.at;
            self.blank()?;
            let comma = self.take(",").then_some(self.at);
            if comma.is_none() && !self.rest().starts_with('}') {
                return Err(self.expected(", or }"));
            }
            members.push(Entry { name, behind, start, value, end, comma });
        }
        self.depth -= 1;
        Ok(members)
    }

    fn elements(&mut self) -> Result<(), Refusal> {
        self.deeper()?;
        self.take("[");
        loop {
            self.blank()?;
            if self.take("]") {
                break;
            }
            self.value()?;
            self.blank()?;
            if !self.take(",") && !self.rest().starts_with(']') {
                return Err(self.expected(", or ]"));
            }
        }
        self.depth -= 1;
        Ok(())
    }
}
