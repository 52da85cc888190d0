//! Members of a file of JSON, which may have comments as editors' settings do. Each is written behind the brace of the
//! innermost object that exists, so that nothing else of the file moves.

use super::{Refusal, Settings};
use serde_json::Value;

/// Members: the place of each, and its value.
pub(super) struct Members(pub(super) Vec<(&'static [&'static str], Value)>);

impl Members {
    /// All of them in one object.
    fn tree(&self) -> Value {
        let mut tree = Value::Object(serde_json::Map::new());
        for (place, value) in &self.0 {
            let at = place.iter().fold(&mut tree, |object, name| &mut object[*name]);
            *at = value.clone();
        }
        tree
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
                    let member = self.member(object.is_empty, place, objects.len() - 1);
                    set.insert_str(object.inside, &member);
                }
                (None, None) => {}
            }
        }
        Ok((set != text).then_some(set))
    }

    fn unset(&self, text: &str) -> Result<Option<String>, Refusal> {
        let mut unset = text.to_owned();
        for (place, value) in self.0.iter().rev() {
            let (objects, Some(found)) = walk(&unset, place)? else { continue };
            // Somebody else's.
            if !says(found, value) {
                continue;
            }
            let written = objects.iter().enumerate().rev().find_map(|(depth, object)| {
                [true, false].into_iter().find_map(|was_empty| {
                    let member = self.member(was_empty, place, depth);
                    let found = unset[object.inside..].starts_with(&member);
                    found.then_some(object.inside..object.inside + member.len())
                })
            });
            match written {
                Some(written) => unset.replace_range(written, ""),
                None => {
                    let name = place.join(".");
                    return Err(format!(
                        "{name} stands elsewhere than it was written; take it out by hand"
                    ));
                }
            }
        }
        Ok((unset != text).then_some(unset))
    }
}

/// An object in a text.
struct Object {
    /// Behind its opening brace.
    inside: usize,
    is_empty: bool,
}

/// The objects that lead to a place, outermost first, and what stands there, as it is spelled.
fn walk<'t>(text: &'t str, place: &[&str]) -> Result<(Vec<Object>, Option<&'t str>), Refusal> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    reader.blank()?;
    let mut at = reader.at;
    reader.value()?;
    reader.blank()?;
    if !reader.rest().is_empty() {
        return Err(reader.expected("the end"));
    }
    let mut objects = Vec::new();
    for (depth, name) in place.iter().enumerate() {
        let mut reader = Reader { text, at, depth: 0 };
        if !reader.rest().starts_with('{') {
            let what = if depth == 0 { "it".to_owned() } else { place[..depth].join(".") };
            return Err(format!("line {}: {what} is no object", reader.line()));
        }
        let members = reader.members()?;
        objects.push(Object { inside: at + 1, is_empty: members.is_empty() });
        // Programs take the last of several members of a name.
        match members.iter().rfind(|(key, _)| key == name) {
            Some((_, value)) => at = *value,
            None => return Ok((objects, None)),
        }
    }
    let mut reader = Reader { text, at, depth: 0 };
    reader.value()?;
    Ok((objects, Some(&text[at..reader.at])))
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

    /// Goes over an object, and gives its names with the places of their values.
    fn members(&mut self) -> Result<Vec<(String, usize)>, Refusal> {
        self.deeper()?;
        self.take("{");
        let mut members = Vec::new();
        loop {
            self.blank()?;
            if self.take("}") {
                break;
            }
            let name = self.string()?;
            self.blank()?;
            if !self.take(":") {
                return Err(self.expected(":"));
            }
            self.blank()?;
            members.push((name, self.at));
            self.value()?;
            self.blank()?;
            if !self.take(",") && !self.rest().starts_with('}') {
                return Err(self.expected(", or }"));
            }
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
