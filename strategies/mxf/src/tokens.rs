//! `mxf.tokens`: how MXF's microcompactor and its recovery count a history.
//!
//! A message counts as its text and as the list of its calls, each by MXF's `TokenEstimator`. That one is a configuration of the
//! common estimator `chars`, which the preset `tiered` uses as it is.

use foldback_core::log::{Counts, Message, Part, PartKind};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use foldback_stages::estimator::{Calls, Chars, CharsConfig, Rounding, Unit, chat_call};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Configuration of [`Tokens`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokensConfig {
    /// UTF-16 units per token.
    pub per_token: u64,
    /// Tokens taken off per white space character, the sum rounded down.
    pub whitespace_discount: f64,
    /// Tokens added per bracket, `;`, `=`, `<` and `>`, the sum rounded down.
    pub bracket_surcharge: f64,
}

impl StageConfig<dyn Estimator> for TokensConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        let chars = CharsConfig {
            unit: Unit::Utf16,
            rounding: Rounding::Ceil,
            per_token: self.per_token,
            minimum: 1,
            whitespace_discount: self.whitespace_discount,
            bracket_surcharge: self.bracket_surcharge,
            calls: Calls::Json,
            ..CharsConfig::default()
        };
        let texts = chars.estimator()?;
        let id = format!("mxf.tokens({})", texts.id()).into();
        Ok(Arc::new(Tokens { texts, id }))
    }
}

/// The text of a message, and the list of its calls. Nothing else is in MXF's messages: reasoning and files count nothing.
#[derive(Clone, Debug)]
pub struct Tokens {
    texts: Chars,
    id: Arc<str>,
}

impl Tokens {
    /// The calls of a message as MXF keeps them.
    fn calls(message: &Message) -> Value {
        let calls = message.parts.iter().filter_map(Part::as_call);
        calls.map(|call| chat_call(call, &call.arguments)).collect()
    }
}

impl Estimator for Tokens {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        self.texts.text(text)
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        match part.kind {
            PartKind::Text { .. } | PartKind::Call(_) | PartKind::Result(_) => {
                self.texts.part(part, shown)
            }
            _ => 0,
        }
    }

    fn result(&self, shown: &str) -> Option<u64> {
        self.texts.result(shown)
    }

    /// The first text has the tokens of all texts, and the first call the tokens of the list of calls.
    fn count(&self, message: &Message) -> Counts {
        let mut text = Some(|| self.text(&message.said()));
        let mut calls = Some(|| self.text(&Self::calls(message).to_string()));
        let count = |part: &Part| match &part.kind {
            PartKind::Text { .. } => text.take().map_or(0, |all| all()),
            PartKind::Call(_) => calls.take().map_or(0, |all| all()),
            _ => self.part(part, &part.shown()),
        };
        Counts { parts: message.parts.iter().map(count).collect(), overhead: 0 }
    }
}
