//! A TOML tree in which every value knows where it was written.
//!
//! Presets and user files are merged on this tree, so that an error in the merged result still points
//! at the line of the file that the value came from.

use serde_json::{Map, Value};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Location {
    /// The file, or the name of the preset.
    pub source: Arc<str>,
    /// Line, from 1; 0 for a value that no file holds.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct Node {
    /// Where the value was written.
    pub place: Location,
    /// Place of the key.
    pub key_place: Location,
    /// The value.
    pub kind: NodeKind,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum NodeKind {
    /// A string, a number or a boolean.
    Leaf(Value),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the file.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// A value that no file holds, such as a default or one from the environment.
    #[doc(hidden)]
    pub fn from_value(source: &str, value: Value) -> Self {
        let place = Location { source: source.into(), line: 0, column: 0 };
        let of = |value| Self::from_value(source, value);
        let kind = match value {
            Value::Array(elements) => NodeKind::List(elements.into_iter().map(of).collect()),
            Value::Object(entries) => {
                NodeKind::Table(entries.into_iter().map(|(key, value)| (key, of(value))).collect())
            }
            value => NodeKind::Leaf(value),
        };
        Self { key_place: place.clone(), place, kind }
    }

    /// The entries of a table; nothing for other values.
    #[doc(hidden)]
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.kind {
            NodeKind::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a list; nothing for other values.
    #[doc(hidden)]
    pub fn elements(&self) -> &[Self] {
        match &self.kind {
            NodeKind::List(elements) => elements,
            _ => &[],
        }
    }

    /// The value of a key.
    #[doc(hidden)]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value of a key, to be changed.
    #[doc(hidden)]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.kind {
            NodeKind::Table(entries) => {
                entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
            }
            _ => None,
        }
    }

    /// The string, if it is one.
    #[doc(hidden)]
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Leaf(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Sets or replaces a key of a table.
    #[doc(hidden)]
    pub fn set(&mut self, key: &str, node: Self) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => {
                if let NodeKind::Table(entries) = &mut self.kind {
                    entries.push((key.to_owned(), node));
                }
            }
        }
    }

    /// Takes a key out of a table.
    #[doc(hidden)]
    pub fn take(&mut self, key: &str) -> Option<Self> {
        let NodeKind::Table(entries) = &mut self.kind else {
            return None;
        };
        let index = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(index).1)
    }

    /// The node at a path such as `estimator.unit` or `list[2].name`.
    #[doc(hidden)]
    pub fn at(&self, path: &str) -> Option<&Self> {
        let mut node = self;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            node = match step.strip_suffix(']').map(str::parse::<usize>) {
                Some(Ok(index)) => node.elements().get(index)?,
                _ => node.get(step)?,
            };
        }
        Some(node)
    }

    /// The value without places.
    #[doc(hidden)]
    pub fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Leaf(value) => value.clone(),
            NodeKind::List(elements) => elements.iter().map(Self::to_value).collect(),
            NodeKind::Table(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, node)| (key.clone(), node.to_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    pub(super) fn of_table(lines: &Lines, span: Range<usize>, table: &DeTable<'_>) -> Self {
        let place = lines.place(span.start);
        let mut entries: Vec<(usize, String, Self)> = table
            .iter()
            .map(|(key, value)| {
                let mut node = Self::of_value(lines, value);
                node.key_place = lines.place(key.span().start);
                (key.span().start, key.get_ref().to_string(), node)
            })
            .collect();
        entries.sort_by_key(|(start, _, _)| *start);
        let entries = entries.into_iter().map(|(_, key, node)| (key, node)).collect();
        Self { key_place: place.clone(), place, kind: NodeKind::Table(entries) }
    }

    fn of_value(lines: &Lines, value: &Spanned<DeValue<'_>>) -> Self {
        let span = value.span();
        let kind = match value.get_ref() {
            DeValue::Table(table) => return Self::of_table(lines, span, table),
            DeValue::Array(elements) => {
                NodeKind::List(elements.iter().map(|value| Self::of_value(lines, value)).collect())
            }
            DeValue::String(text) => NodeKind::Leaf(Value::String(text.to_string())),
            DeValue::Boolean(flag) => NodeKind::Leaf(Value::Bool(*flag)),
            DeValue::Datetime(time) => NodeKind::Leaf(Value::String(time.to_string())),
            DeValue::Integer(number) => NodeKind::Leaf(
                i64::from_str_radix(number.as_str(), number.radix())
                    .map_or_else(|_| Value::String(number.to_string()), Value::from),
            ),
            DeValue::Float(number) => NodeKind::Leaf(
                number
                    .as_str()
                    .parse::<f64>()
                    .map_or_else(|_| Value::String(number.to_string()), Value::from),
            ),
        };
        let place = lines.place(span.start);
        Self { key_place: place.clone(), place, kind }
    }
}

/// Turns byte offsets of a text into lines and columns.
pub(super) struct Lines<'t> {
    source: Arc<str>,
    text: &'t str,
}

impl<'t> Lines<'t> {
    pub(super) fn new(source: Arc<str>, text: &'t str) -> Self {
        Self { source, text }
    }

    pub(super) fn place(&self, offset: usize) -> Location {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Location {
            source: Arc::clone(&self.source),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
