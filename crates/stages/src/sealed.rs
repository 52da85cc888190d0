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
        if self.tokens == 0 {
            return Err(Invalid::new("tokens", "must be 1 or more"));
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

/// The longest text of so many tokens, at least one word.
fn filled(tokens: u64, estimator: &dyn Estimator) -> String {
    // A token of more than a word is in no vocabulary.
    let (mut fits, mut over) = (1, usize::try_from(tokens).unwrap_or(usize::MAX / 16) + 2);
    let text = |words: usize| WORD.repeat(words).trim_end().to_owned();
    while estimator.text(&text(over)) <= tokens && over < 1 << 24 {
        over *= 2;
    }
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        match estimator.text(&text(middle)) <= tokens {
            true => fits = middle,
            false => over = middle,
        }
    }
    text(fits)
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
}
