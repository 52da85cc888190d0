//! Reading typed values from a tree so that all errors come at once, each with its place.

use super::error::{ConfigError, ConfigErrors, in_words, nearest};
use super::node::{Location, Node};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The errors found so far.
#[derive(Default)]
pub(super) struct Errors(Vec<ConfigError>);

impl Errors {
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, node: &Node, path: &str, message: impl Into<String>) {
        self.push_place(&node.place, path, message);
    }

    pub(super) fn push_place(&mut self, place: &Location, path: &str, message: impl Into<String>) {
        self.0.push(ConfigError {
            source: place.source.to_string(),
            line: place.line,
            column: place.column,
            path: path.to_owned(),
            message: message.into(),
        });
    }

    pub(super) fn push_at(&mut self, root: &Node, path: &str, message: &str) {
        self.push(root.at(path).unwrap_or(root), path, message);
    }

    pub(super) fn finish(mut self) -> Result<(), ConfigErrors> {
        self.0.sort_by(|a, b| (&a.source, a.line, a.column).cmp(&(&b.source, b.line, b.column)));
        if self.0.is_empty() { Ok(()) } else { Err(ConfigErrors(self.0)) }
    }
}

pub(super) fn join(path: &str, field: &str) -> String {
    match (path.is_empty(), field.is_empty()) {
        (true, _) => field.to_owned(),
        (_, true) => path.to_owned(),
        _ => format!("{path}.{field}"),
    }
}

/// Reads a struct field by field: an error takes its field out and the rest is read on, so that all
/// errors come at once.
pub(super) fn read_struct<T: DeserializeOwned + Default + schemars::JsonSchema>(
    node: &Node,
    path: &str,
    also_known: &[&str],
    errors: &mut Errors,
) -> T {
    let schema = schemars::schema_for!(T);
    let known: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    let mut node = node.clone();
    reject_unknown(&mut node, path, &known, also_known, errors);
    loop {
        match serde_path_to_error::deserialize::<_, T>(node.to_value()) {
            Ok(value) => return value,
            Err(error) => {
                let at = error.path().to_string();
                let bad = node.at(&at).cloned().unwrap_or_else(|| node.clone());
                errors.push(&bad, &join(path, &at), in_words(&error.into_inner().to_string()));
                let first = at.split(['.', '[']).next().unwrap_or_default().to_owned();
                if node.take(&first).is_none() {
                    return T::default();
                }
            }
        }
    }
}

pub(super) fn reject_unknown(
    node: &mut Node,
    path: &str,
    known: &[String],
    also_known: &[&str],
    errors: &mut Errors,
) {
    let unknown: Vec<(String, Node)> =
        node.entries().iter().filter(|(key, _)| !known.contains(key)).cloned().collect();
    for (key, value) in unknown {
        node.take(&key);
        let candidates = known.iter().map(String::as_str).chain(also_known.iter().copied());
        let hint = nearest(&key, candidates);
        let mut all: Vec<&str> =
            known.iter().map(String::as_str).chain(also_known.iter().copied()).collect();
        all.sort_unstable();
        let message = format!("is not known here{hint} (known: {})", all.join(", "));
        errors.push_place(&value.key_place, &join(path, &key), message);
    }
}
