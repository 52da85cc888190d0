//! Rows that are written down beside the tests that run them, as TOML.
//!
//! Texts may hold `{x:N}` (so many letters) and `{repeat:N:TEXT}`. What `[named]` holds stands wherever a
//! text is its name after a `$`.

use foldback_core::log::{Media, Message, Part, PartKind, Role};
use foldback_core::stage::Estimator;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// The rows of a group of a table file.
///
/// # Panics
///
/// If the file is none, or if a row is not what the test takes; the message shows the row.
pub fn rows<T: DeserializeOwned>(file: &str, group: &str) -> Vec<T> {
    let file: Table = toml::from_str(file).unwrap_or_else(|error| panic!("{error}"));
    let Some(Value::Array(rows)) = file.get(group) else { panic!("no rows are called {group}") };
    let named = file.get("named").and_then(Value::as_table);
    let row = |row: &Value| {
        let mut row = row.clone();
        if let Some(named) = named {
            replace(&mut row, named);
        }
        fill(&mut row, &filled);
        let text = row.to_string();
        row.try_into().unwrap_or_else(|error| panic!("{group}: {error}\n{text}"))
    };
    rows.iter().map(row).collect()
}

fn replace(value: &mut Value, named: &Table) {
    if let Value::String(text) = value
        && let Some(is) = text.strip_prefix('$').and_then(|name| named.get(name))
    {
        *value = is.clone();
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, named)),
        Value::Table(fields) => fields.iter_mut().for_each(|(_, value)| replace(value, named)),
        _ => {}
    }
}

/// A message of a role that a row writes as its parts, each a letter and a length: `t` for a text or a result, `e` and `p` for a text of
/// two-byte letters or of pairs of UTF-16 units, `r` for reasoning, `c` for a call of `read`, and any other for an image. `arguments` makes
/// those of a call from a text of that length. Calls are `c1`.
pub fn message(role: &str, parts: &str, arguments: impl Fn(&str) -> String) -> Message {
    let part = |word: &str| {
        let (kind, length) = word.split_at(1);
        let text = "x".repeat(length.parse().unwrap_or(0));
        match (kind, role) {
            ("t", "tool") => Part::result("c1", "read", text),
            ("t", _) => Part::text(text),
            ("e", _) => Part::text(text.replace('x', "é")),
            ("p", _) => Part::text(text.replace('x', "😀")),
            ("r", _) => Part::new(PartKind::Reasoning { text, opaque: None }),
            ("c", _) => Part::call("c1", "read", arguments(&text)),
            _ => Part::new(PartKind::File(Media { mime: "image/png".into(), ..Media::default() })),
        }
    };
    let role = match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::Tool,
    };
    Message::new("m", role, parts.split(' ').map(part).collect())
}

/// Counts the messages of the group `sizes` of a table file: each a row of its id, the role and the parts as [`message`] takes them, and
/// the tokens that the original counts.
///
/// # Panics
///
/// If the estimator counts others.
pub fn sizes(file: &str, estimator: &dyn Estimator, arguments: impl Fn(&str) -> String) {
    for (id, role, parts, tokens) in rows::<(String, String, String, u64)>(file, "sizes") {
        let message = message(&role, &parts, &arguments);
        assert_eq!(estimator.count(&message).total(), tokens, "{id} {parts}");
    }
}

/// Checks that every row that is owed is tested, or is among the `exceptions` of a table file with its
/// reason.
///
/// # Panics
///
/// If one is neither or both.
pub fn covered(owed: &[String], tested: &BTreeSet<String>, file: &str) {
    let exceptions: BTreeMap<String, String> = rows(file, "exceptions").into_iter().collect();
    for id in owed {
        let (tested, excepted) = (tested.contains(id), exceptions.contains_key(id));
        assert!(tested || excepted, "{id} has neither a test nor a reason");
        assert!(!(tested && excepted), "{id} has both a test and an exception");
    }
    for (id, reason) in exceptions {
        assert!(owed.contains(&id), "{id} is no row");
        assert!(!reason.is_empty(), "{id} has no reason");
    }
}

/// Fills in what stands in braces, in all texts.
pub fn fill(value: &mut Value, filled: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = filled(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, filled)),
        Value::Table(fields) => fields.iter_mut().for_each(|(_, value)| fill(value, filled)),
        _ => {}
    }
}

/// A text with what stands in braces filled in.
///
/// # Panics
///
/// If a count is no number or a brace is not closed.
pub fn filled(text: &str) -> String {
    let text = with(text, "x", |count| "x".repeat(count.parse().expect("a number")));
    with(&text, "repeat", |of| {
        let (count, text) = of.split_once(':').expect("a count and a text");
        text.repeat(count.parse().expect("a number"))
    })
}

/// A text with every `{NAME:ARGUMENT}` replaced by what `made` makes of the argument.
///
/// # Panics
///
/// If a brace is not closed.
pub fn with(text: &str, name: &str, made: impl Fn(&str) -> String) -> String {
    let open = format!("{{{name}:");
    let mut text = text.to_owned();
    while let Some((before, rest)) = text.split_once(&open) {
        let (argument, after) = rest.split_once('}').expect("a closing brace");
        text = format!("{before}{}{after}", made(argument));
    }
    text
}
