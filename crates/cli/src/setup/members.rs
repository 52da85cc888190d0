//! Members of a file of JSON, which may have comments as editors' settings do. Each is written behind the brace of the
//! innermost object that exists, so that nothing else of the file moves.

use super::{Refusal, Settings};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::Value;
use std::ops::Range;

/// Members: the place of each, and its value.
pub(super) struct Members<'p>(pub(super) Vec<(Vec<&'p str>, Value)>);

impl Members<'_> {
    /// The members as one object.
    pub(super) fn tree(&self) -> Value {
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

impl Settings for Members<'_> {
    fn new_file(&self) -> &'static str {
        "{}\n\n"
    }

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
            // Objects still spelled as setup wrote them go with the member. In a file that a program has rewritten, only the member goes.
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

/// The value at a place in a text.
pub(super) fn value(text: &str, place: &[&str]) -> Result<Option<Value>, Refusal> {
    let (_, found) = walk(text, place)?;
    Ok(found.and_then(|found| serde_json::from_str(found).ok()))
}

/// JSON with comments and commas at the end, as editors read their settings, and nothing else beside the standard.
const SETTINGS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The objects that lead to a place, outermost first, and what stands there, as it is spelled.
fn walk<'t>(text: &'t str, place: &[&str]) -> Result<(Vec<Object>, Option<&'t str>), Refusal> {
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    // Blanks in place of a byte order mark leave everything where it is.
    let blank = text.replacen('\u{feff}', "   ", usize::from(text.starts_with('\u{feff}')));
    let collect = CollectOptions { tokens: true, ..CollectOptions::default() };
    let parsed = parse_to_ast(&blank, &collect, &SETTINGS).map_err(|error| {
        format!("line {}: it is no JSON: {}", error.line_display(), error.kind())
    })?;
    let tokens = parsed.tokens.unwrap_or_default();
    let comma_behind = |end: usize| {
        let next = tokens.partition_point(|token| token.range.start < end);
        let next = tokens.get(next).filter(|token| token.token == Token::Comma);
        next.map(|comma| comma.range.end)
    };
    let mut value = parsed.value.as_ref();
    let mut objects = Vec::new();
    for (depth, name) in place.iter().enumerate() {
        let Some(ast::Value::Object(object)) = value else {
            let what = if depth == 0 { "it".to_owned() } else { place[..depth].join(".") };
            let at = value.map_or(0, |value| value.range().start);
            return Err(format!("line {}: {what} is no object", line(at)));
        };
        let inside = object.range.start + 1;
        let mut entries: Vec<Entry> = Vec::new();
        for member in &object.properties {
            let behind = entries.last().map_or(inside, |entry| entry.comma.unwrap_or(entry.end));
            let end = member.range.end;
            entries.push(Entry {
                name: member.name.as_str().to_owned(),
                behind,
                start: member.range.start,
                end,
                comma: comma_behind(end),
            });
        }
        // Programs take the last of several members of a name.
        let named = entries.iter().rposition(|entry| entry.name == *name);
        value = named.map(|at| &object.properties[at].value);
        objects.push(Object { inside, entries, named });
        if value.is_none() {
            return Ok((objects, None));
        }
    }
    Ok((objects, value.map(|value| &text[value.range().start..value.range().end])))
}
