//! The errors of a strategy file: all at once, each with line and column.

use std::fmt;

/// One error in a strategy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, or the name of the preset.
    pub source: String,
    /// Line, from 1; 0 where the error has no place.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// Path of the value, e.g. `pruner[0].protect_tokens`.
    pub path: String,
    /// What is wrong, and the way out.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        f.write_str(": ")?;
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// Rust names in the messages of a deserializer, and the words for them in a file. A name may be the beginning of a longer one.
const TYPES: [(&str, &str); 7] = [
    ("struct ", "a table"),
    ("tuple ", "a list"),
    ("internally tagged enum ", "a table"),
    ("enum ", "a text or a table"),
    ("a nonzero ", "a whole number, 1 or more"),
    ("a sequence", "a list"),
    ("a map", "a table"),
];

/// A deserializer's message without names of Rust's types, which mean nothing to the author of a file.
#[doc(hidden)]
pub fn in_words(message: &str) -> String {
    let Some((before, expected)) = message.rsplit_once("expected ") else {
        return message.to_owned();
    };
    let number = |kind: char| {
        let bits = expected.strip_prefix(kind)?;
        (bits == "size" || bits.parse::<u8>().is_ok()).then_some(kind)
    };
    let words = match ['u', 'i', 'f'].into_iter().find_map(number) {
        Some('u') => "a whole number, 0 or more",
        Some('i') => "a whole number",
        Some(_) => "a number",
        None => TYPES
            .iter()
            .find(|(name, _)| expected.starts_with(name))
            .map_or(expected, |(_, words)| *words),
    };
    format!("{before}expected {words}")
}

/// `; did you mean ...?`, or nothing where no known name is near.
#[doc(hidden)]
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(distance, name)| {
            // Or it is the beginning of a name.
            *distance <= (name.len().max(wrong.len()) / 3).max(1)
                || wrong.len() > 2 && name.starts_with(wrong)
        })
        .min()
        .map_or(String::new(), |(_, name)| format!("; did you mean `{name}`?"))
}

/// The three known names that are nearest to a wrong one.
pub(crate) fn three_nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let mut known: Vec<(usize, &str)> =
        known.into_iter().map(|name| (strsim::damerau_levenshtein(wrong, name), name)).collect();
    known.sort_unstable();
    known.into_iter().take(3).map(|(_, name)| name).collect()
}
