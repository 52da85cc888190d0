//! `sealed`: stands for a summary that only its provider can read.
//!
//! Its text is of a set size and says nothing. What a view holds beside it is the least that it keeps; the most is all that
//! such a summary replaced, so a comparison gives what is kept as bounds and never as a value.

use async_trait::async_trait;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::services::Services;
use foldback_core::stage::{Estimator, Summarizer, Summary, SummaryError, SummaryRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The word that it repeats.
const WORD: &str = "sealed ";

/// The largest that can be set: no provider writes more.
const MOST: u64 = 1_000_000;

/// Configuration of [`Sealed`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SealedConfig {
    /// Tokens of a summary, by the request's estimator.
    pub tokens: u64,
}

impl Default for SealedConfig {
    fn default() -> Self {
        Self { tokens: 3_500 }
    }
}

impl StageConfig<dyn Summarizer> for SealedConfig {
    fn build(self) -> Result<Arc<dyn Summarizer>, Invalid> {
        if !(1..=MOST).contains(&self.tokens) {
            return Err(Invalid::new("tokens", "must be from 1 to 1,000,000"));
        }
        Ok(Arc::new(Sealed { id: format!("{}({})", Sealed::NAME, self.tokens), config: self }))
    }
}

/// A summary that only its provider can read.
#[derive(Clone, Debug)]
pub struct Sealed {
    config: SealedConfig,
    id: String,
}

impl Sealed {
    /// Its name in strategy files.
    pub const NAME: &str = "sealed";

    /// Whether a summarizer is one, by its id.
    pub fn is(id: &str) -> bool {
        id.strip_prefix(Self::NAME).is_some_and(|rest| rest.starts_with('('))
    }
}

#[async_trait]
impl Summarizer for Sealed {
    fn id(&self) -> &str {
        &self.id
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _services: &Services,
    ) -> Result<Summary, SummaryError> {
        let text = filled(self.config.tokens, &*request.estimator);
        let tokens = request.estimator.text(&text);
        Ok(Summary { text, tokens, by: self.id.clone(), usage: None, lacks: None })
    }
}

/// A text of so many tokens, at least one word. Texts of one word grow evenly.
fn filled(tokens: u64, estimator: &dyn Estimator) -> String {
    let text = |words| WORD.repeat(words).trim_end().to_owned();
    let words = tokens * 100 / estimator.text(&text(100)).max(1);
    text(usize::try_from(words).unwrap_or_default().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Rounding, Unit, chars, o200k};

    #[test]
    fn it_has_the_size_that_is_set() {
        for estimator in [&chars(Unit::Bytes, Rounding::Ceil) as &dyn Estimator, &o200k()] {
            for tokens in [1, 2, 57, 3_500] {
                let size = estimator.text(&filled(tokens, estimator));
                assert!(size <= tokens.max(2) && size + 2 >= tokens, "{size} of {tokens}");
            }
        }
    }

    #[test]
    fn a_size_that_nothing_has_is_refused() {
        for (tokens, built) in [(0, false), (1, true), (MOST, true), (MOST + 1, false)] {
            assert_eq!(SealedConfig { tokens }.build().is_ok(), built, "{tokens}");
        }
    }
}
