//! `o200k` and `cl100k`: OpenAI's byte-pair vocabularies, embedded.
//!
//! Counts are those of a real tokenizer (the vocabularies of tiktoken, by `bpe-openai`), and what a
//! request costs around its texts follows OpenAI's published rule for chat requests: three tokens per
//! message. No formula is published for tool definitions and call wrappers of later models, so calls
//! count their name and arguments and nothing more.

use super::pieces;
use super::scope::{Calls, Scope};
pub use super::vocabulary::Vocabulary;
use foldback_core::log::{Message, Part};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What is counted, for either vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BpeConfig {
    /// Tokens that every message costs besides its content.
    pub per_message: u64,
    /// Tokens that every file or image costs.
    pub per_file: u64,
    /// How much of a tool call counts.
    pub calls: Calls,
    /// Whether reasoning counts.
    pub reasoning: bool,
    /// Whether content that is not a string counts: structured tool results, parts of unknown kind.
    pub structured: bool,
}

impl Default for BpeConfig {
    fn default() -> Self {
        let Scope { per_file, calls, reasoning, structured, .. } = Scope::default();
        Self { per_message: 3, per_file, calls, reasoning, structured }
    }
}

impl StageConfig<dyn Estimator> for BpeConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        Ok(Arc::new(Bpe::new(Vocabulary::O200k, &self)))
    }
}

/// [`BpeConfig`] for `cl100k`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cl100k(pub BpeConfig);

// Derived, it would be a reference to the other schema, and the catalog would find no fields in it.
impl JsonSchema for Cl100k {
    fn schema_name() -> Cow<'static, str> {
        "Cl100k".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BpeConfig::json_schema(generator)
    }
}

impl StageConfig<dyn Estimator> for Cl100k {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        Ok(Arc::new(Bpe::new(Vocabulary::Cl100k, &self.0)))
    }
}

/// A byte-pair tokenizer.
#[derive(Clone)]
pub struct Bpe {
    vocabulary: Vocabulary,
    scope: Scope,
    id: Arc<str>,
}

/// `o200k` with everything that is sent counted and three tokens per message.
pub fn o200k() -> Bpe {
    Bpe::new(Vocabulary::O200k, &BpeConfig::default())
}

/// `cl100k` with everything that is sent counted and three tokens per message.
pub fn cl100k() -> Bpe {
    Bpe::new(Vocabulary::Cl100k, &BpeConfig::default())
}

impl Bpe {
    /// A tokenizer that counts what `config` says.
    pub fn new(vocabulary: Vocabulary, config: &BpeConfig) -> Self {
        let scope = Scope {
            per_message: config.per_message,
            per_part: 0,
            per_file: config.per_file,
            calls: config.calls,
            reasoning: config.reasoning,
            structured: config.structured,
        };
        let id = format!("{}{}", vocabulary.as_str(), scope.describe()).into();
        Self { vocabulary, scope, id }
    }
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bpe").field(&self.id).finish()
    }
}

impl Estimator for Bpe {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        pieces::count(self.vocabulary, text)
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        self.scope.part(part, shown, |text| self.text(text))
    }

    fn result(&self, shown: &str) -> Option<u64> {
        Some(self.text(shown))
    }

    fn overhead(&self, _: &Message) -> u64 {
        self.scope.per_message
    }
}
