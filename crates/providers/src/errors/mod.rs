//! Turns the error of a model's provider into an [`ErrorKind`], which says what can be done about it.
//!
//! "Too long" has some thirty wordings, most of them under a plain 400, and the words for "too many
//! tokens per minute" are nearly the same. So the knowledge is data: [rules](Rule) in the order they
//! are tried, each with the place where the text was seen ([`errors.toml`](BUILTIN)), and a user's own
//! before them. Phrases are looked for in what the provider *said*, not in the whole body: validation
//! errors echo the request, and a request may well contain the words "prompt is too long".

mod body;
mod pattern;
mod rule;

pub use pattern::Sizes;
pub use rule::{Rule, RuleError};

use body::ErrorText;
use foldback_core::provider::{ErrorKind, ProviderError};
use std::sync::OnceLock;
use std::time::Duration;

/// The built-in rules, as text.
pub const BUILTIN: &str = include_str!("../../data/errors.toml");

/// Length in bytes to which the body of an error without a readable message is cut.
const LONGEST: usize = 2_000;

/// Recognizes what providers answer.
#[derive(Clone, Debug)]
pub struct Classifier {
    rules: Vec<Rule>,
}

impl Classifier {
    /// The built-in rules.
    pub fn builtin() -> &'static Self {
        static BUILT: OnceLock<Classifier> = OnceLock::new();
        BUILT.get_or_init(|| Self {
            // A test reads the file; with a mistake in it nothing would be recognized.
            rules: rule::read(BUILTIN).unwrap_or_default(),
        })
    }

    /// Only these rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().map(Rule::lowered).collect() }
    }

    /// The rules of a text in the form of [`BUILTIN`], tried before the built-in rules.
    ///
    /// # Errors
    ///
    /// The text can't be read, or a rule would never or always match. The error has line and field.
    pub fn with_rules(text: &str) -> Result<Self, RuleError> {
        let mut rules = rule::read(text)?;
        rules.extend_from_slice(&Self::builtin().rules);
        Ok(Self { rules })
    }

    /// The rules, in the order they are tried.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The meaning of an answer. `body_or_message` is the body as it came, or the text that a client
    /// library made of it: JSON anywhere in it is read, and so are the events of a stream that ended
    /// with an error under status 200.
    pub fn classify(
        &self,
        provider: Option<&str>,
        status: Option<u16>,
        body_or_message: &str,
    ) -> ProviderError {
        let said = ErrorText::read(status, body_or_message);
        let rule = self.first(provider, &said);
        let quoted = |rule: &Rule| -> Option<String> {
            rule.codes.iter().find(|code| said.has_code(code)).cloned()
        };
        ProviderError {
            kind: rule.map_or(ErrorKind::Unknown, |rule| rule.kind),
            status: said.status,
            code: said.code().map(str::to_owned).or_else(|| quoted(rule?)),
            message: message(&said, body_or_message),
            retry_after: said.retry_after.or_else(|| pattern::retry_after(&said.text)),
        }
    }

    /// Only the kind.
    pub fn kind_of(
        &self,
        provider: Option<&str>,
        status: Option<u16>,
        body_or_message: &str,
    ) -> ErrorKind {
        self.classify(provider, status, body_or_message).kind
    }

    /// How large the request was and how large it may be, in tokens, if the provider says so.
    pub fn sizes(
        &self,
        provider: Option<&str>,
        status: Option<u16>,
        body_or_message: &str,
    ) -> Sizes {
        let said = ErrorText::read(status, body_or_message);
        let read = self
            .first(provider, &said)
            .into_iter()
            .flat_map(|rule| &rule.sizes)
            .find_map(|pattern| pattern::sizes(pattern, &said.text))
            .unwrap_or_default();
        Sizes {
            requested: said.sizes.requested.or(read.requested),
            limit: said.sizes.limit.or(read.limit),
        }
    }

    fn first(&self, provider: Option<&str>, said: &ErrorText) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.holds(provider, said))
    }
}

/// What the provider said, in its own words; else the body, cut.
fn message(said: &ErrorText, body: &str) -> String {
    let text = if said.words.is_empty() { body.trim() } else { &said.words };
    text[..text.floor_char_boundary(LONGEST)].to_owned()
}

/// A number of seconds as text, if it is one that can be waited.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
