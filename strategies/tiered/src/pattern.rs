//! A regular expression that is compiled when it is first used.

use regex::Regex;
use std::sync::OnceLock;

/// A fixed pattern of this crate.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern. Tests use each once, so one that does not compile can't be shipped; it would find
    /// nothing.
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// Whether it occurs in the text.
    pub(crate) fn finds(&self, text: &str) -> bool {
        self.compiled
            .get_or_init(|| Regex::new(self.source).ok())
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}
