//! Rules as they are written, and whether one matches.

use crate::errors::body::ErrorText;
use crate::errors::pattern;
use foldback_core::provider::ErrorKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use toml::Spanned;

/// One way in which providers say that something is wrong. All conditions that are given must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What the error means.
    pub kind: ErrorKind,
    /// Only errors of this provider, ignoring case. An error of an unknown provider does not match.
    #[serde(default)]
    pub provider: Option<String>,
    /// One of these HTTP statuses.
    #[serde(default)]
    pub statuses: Vec<u16>,
    /// One of these codes of the provider's own, ignoring case.
    #[serde(default)]
    pub codes: Vec<String>,
    /// Phrases that must all occur, ignoring case.
    #[serde(default)]
    pub all_of: Vec<String>,
    /// Phrases of which one must occur, ignoring case.
    #[serde(default)]
    pub any_of: Vec<String>,
    /// Phrases that must not occur, ignoring case.
    #[serde(default)]
    pub none_of: Vec<String>,
    /// Whether the answer has no text at all.
    #[serde(default)]
    pub empty: Option<bool>,
    /// Patterns that read sizes out of the text; see [`BUILTIN`](crate::errors::BUILTIN).
    #[serde(default)]
    pub sizes: Vec<String>,
    /// Where the text was seen: a URL, or a project and a file.
    #[serde(default)]
    pub source: String,
}

impl Rule {
    pub(crate) fn holds(&self, provider: Option<&str>, said: &ErrorText) -> bool {
        let provider = self
            .provider
            .as_deref()
            .is_none_or(|mine| provider.is_some_and(|theirs| theirs.eq_ignore_ascii_case(mine)));
        let status = self.statuses.is_empty()
            || said.status.is_some_and(|status| self.statuses.contains(&status));
        let code = self.codes.is_empty() || self.codes.iter().any(|code| said.has_code(code));
        let has = |phrase: &String| said.text.contains(phrase.as_str());
        provider
            && status
            && code
            && self.all_of.iter().all(has)
            && (self.any_of.is_empty() || self.any_of.iter().any(has))
            && !self.none_of.iter().any(has)
            && self.empty.is_none_or(|empty| empty == said.text.is_empty())
    }

    /// What is wrong with the rule itself: the field, and why.
    fn mistake(&self) -> Option<(&'static str, String)> {
        let lists = [
            ("codes", &self.codes),
            ("all_of", &self.all_of),
            ("any_of", &self.any_of),
            ("none_of", &self.none_of),
            ("sizes", &self.sizes),
        ];
        if let Some((field, _)) =
            lists.iter().find(|(_, list)| list.iter().any(|phrase| phrase.trim().is_empty()))
        {
            let way_out = "an empty text matches everything; remove it";
            return Some((field, way_out.to_owned()));
        }
        let conditions = [&self.codes, &self.all_of, &self.any_of];
        if self.statuses.is_empty()
            && self.empty.is_none()
            && conditions.iter().all(|list| list.is_empty())
        {
            let way_out = "the rule would match every error; add `statuses`, `codes`, `all_of`, \
                           `any_of` or `empty`";
            return Some(("kind", way_out.to_owned()));
        }
        let wrong = |pattern: &&String| !pattern::is_valid(pattern);
        self.sizes.iter().find(wrong).map(|pattern| {
            let way_out = "is not a pattern: it needs {requested} or {limit}, each at most once, and text \
                           between two numbers";
            ("sizes", format!("`{pattern}` {way_out}"))
        })
    }

    /// Phrases in lower case, as they are compared.
    pub(crate) fn lowered(mut self) -> Self {
        for list in [&mut self.all_of, &mut self.any_of, &mut self.none_of, &mut self.sizes] {
            for phrase in list {
                *phrase = phrase.to_lowercase();
            }
        }
        self
    }
}

/// What is wrong with a text of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// Line, from 1; of a rule that is wrong as a whole, the line where it begins.
    pub line: usize,
    /// Field of the rule, where it is about one.
    pub field: Option<&'static str>,
    /// What is wrong, and the way out.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if let Some(field) = self.field {
            write!(f, "`{field}`: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Spanned<Rule>>,
}

/// Reads rules, in order.
pub(crate) fn read(text: &str) -> Result<Vec<Rule>, RuleError> {
    let file: File = toml::from_str(text).map_err(|error| RuleError {
        line: line(text, error.span()),
        field: None,
        message: error.message().to_owned(),
    })?;
    file.rule
        .into_iter()
        .map(|rule| {
            let span = rule.span();
            let rule = rule.into_inner();
            match rule.mistake() {
                None => Ok(rule.lowered()),
                Some((field, message)) => {
                    Err(RuleError { line: line(text, Some(span)), field: Some(field), message })
                }
            }
        })
        .collect()
}

fn line(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start);
    let before = text.as_bytes().iter().take(start);
    1 + before.filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_test_support::table;

    #[test]
    fn mistakes_are_named_with_their_place() {
        let cases: Vec<[String; 2]> = table::rows(include_str!("cases.toml"), "cases");
        for [text, expect] in cases {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.starts_with(&expect), "{text:?}\n{error}");
        }
    }

    #[test]
    fn the_rules_that_come_with_the_crate_can_be_read_and_name_their_source() {
        let rules = read(crate::errors::BUILTIN).unwrap();
        assert!(rules.len() > 40);
        for rule in rules {
            assert!(!rule.source.is_empty(), "{rule:?}");
        }
    }
}
