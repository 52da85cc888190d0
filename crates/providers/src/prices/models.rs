//! Limits and prices of models: a dated data file, never code.

use foldback_core::Limits;
use foldback_core::config::in_words;
use serde::Deserialize;
use thiserror::Error;

/// Prices in USD per million tokens; 0 for a class that the provider does not bill separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// Input that is not read from the cache.
    pub input: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to a cache that lives five minutes.
    pub cache_write_5m: f64,
    /// Input written to a cache that lives an hour.
    pub cache_write_1h: f64,
    /// Output.
    pub output: f64,
}

/// Prices of a request whose input is above a threshold. They apply to the whole request, not to the excess.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// The threshold, in input tokens.
    pub above: u64,
    /// Input that is not read from the cache. Cache writes grow in proportion.
    pub input: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Output.
    pub output: f64,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The prefix of its recorded names.
    pub id: String,
    /// The whole window in tokens.
    pub context: u64,
    /// A larger window that the provider opens on request, for example by a beta flag; 0 if it has none.
    #[serde(default)]
    pub long_context: u64,
    /// Limit of the input alone.
    #[serde(default)]
    pub input: u64,
    /// Limit of the output.
    #[serde(default)]
    pub output: u64,
    /// Prices.
    #[serde(default)]
    pub price: Price,
    /// Prices of long requests, where they differ.
    #[serde(default)]
    pub tier: Option<Tier>,
    /// When the provider's page was checked.
    #[serde(default)]
    pub checked: String,
    /// What the row leaves out.
    #[serde(default)]
    pub note: String,
}

impl Model {
    /// Its limits.
    pub fn limits(&self) -> Limits {
        Limits { context: self.context, input: self.input, output: self.output }
    }

    /// Its larger window, if a request of `tokens` shows that it was open.
    pub fn opened_by(&self, request: u64) -> Option<u64> {
        (request > self.context && request <= self.long_context).then_some(self.long_context)
    }
}

/// A table of models.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    /// The day that the table describes.
    pub as_of: String,
    /// The models.
    #[serde(rename = "model")]
    pub models: Vec<Model>,
}

/// Number of common leading characters that make two names near.
const LEAST_COMMON: usize = 4;

/// An error in a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "line {line}: {message}; a model table looks like `as_of = \"2026-08-21\"` and `[[model]]` with id, context, input, output, price"
)]
pub struct ModelTableError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl ModelTable {
    /// The table that ships with foldback.
    pub fn embedded() -> Self {
        Self::parse(include_str!("../../data/models.toml")).unwrap_or_else(|error| {
            // A test reads the embedded table, so this can't happen in a release.
            unreachable!("embedded model table: {error}")
        })
    }

    /// Reads a table.
    pub fn parse(text: &str) -> Result<Self, ModelTableError> {
        toml::from_str(text).map_err(|error| ModelTableError {
            line: error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1),
            message: in_words(error.message()),
        })
    }

    /// The model whose id is the longest prefix of `name` that ends with a word or a number: `claude-sonnet-45` is not
    /// `claude-sonnet-4`.
    pub fn find(&self, name: &str) -> Option<&Model> {
        let name: String = normalised(name).collect();
        let begins = |model: &&Model| {
            let mut rest = name.chars();
            normalised(&model.id).all(|c| rest.next() == Some(c))
                && !rest.next().is_some_and(char::is_alphanumeric)
        };
        self.models.iter().filter(begins).max_by_key(|model| model.id.len())
    }

    /// The ids that share the longest beginning with `name`; empty if that beginning is short.
    pub fn near(&self, name: &str) -> Vec<&str> {
        let common = |model: &Model| {
            normalised(&model.id).zip(normalised(name)).take_while(|(a, b)| a == b).count()
        };
        let most = self.models.iter().map(common).max().unwrap_or(0);
        let near = self.models.iter().filter(|model| most >= LEAST_COMMON && common(model) == most);
        near.map(|model| model.id.as_str()).collect()
    }
}

/// Lower case, without the provider's prefix, dots read as dashes: `anthropic/claude-sonnet-4.5` and
/// `claude-sonnet-4-5-20250929` are one model.
fn normalised(name: &str) -> impl Iterator<Item = char> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let lower = name.chars().flat_map(char::to_lowercase);
    lower.map(|c| if c == '.' { '-' } else { c })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_recorded_find_their_model() {
        let table = ModelTable::embedded();
        let cases = [
            ("claude-opus-4-5-20251101", Some("claude-opus-4-5")),
            ("claude-sonnet-4-20250514", Some("claude-sonnet-4")),
            ("anthropic/claude-sonnet-4.5", Some("claude-sonnet-4-5")),
            ("claude-sonnet-4.6", Some("claude-sonnet-4-6")),
            ("gpt-5.3-codex-spark", Some("gpt-5.3-codex")),
            ("gpt-5.4-mini-2026", Some("gpt-5.4-mini")),
            ("gemini-3.1-pro-preview", Some("gemini-3.1-pro")),
            ("claude-sonnet-45", None),
            ("gpt-55", None),
            ("an-unknown-model", None),
        ];
        for (name, expected) in cases {
            assert_eq!(table.find(name).map(|model| model.id.as_str()), expected, "{name}");
        }
    }

    #[test]
    fn a_misspelt_field_is_reported_with_its_line() {
        let error =
            ModelTable::parse("as_of = \"2026-01-01\"\n[[model]]\nid = \"x\"\ncontxt = 5\n")
                .unwrap_err();
        assert_eq!(error.line, 4, "{error}");
    }
}
