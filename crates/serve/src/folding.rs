//! How conversations are folded: the strategy, the limits of models, and how much is kept.

use foldback_core::Limits;
use foldback_core::services::Clock;
use foldback_core::strategy::Strategy;
use foldback_live::SystemClock;
use foldback_llm::Purse;
use foldback_providers::prices::{ModelTable, RegimeTable, ServiceTerms, Terms};
use foldback_providers::wire::Dialect;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// The limits of a model by its name; `None` if they are not known.
pub type LimitsOf = Arc<dyn Fn(Option<&str>) -> Option<Limits> + Send + Sync>;

/// Prices and caching rules of a model by its protocol, its name, and whether the client asks for a cache of one hour, and
/// the tokens of the largest request that its provider takes; `None` if they are not known.
pub type TermsOf = Arc<dyn Fn(Dialect, Option<&str>, bool) -> Option<(Terms, u64)> + Send + Sync>;

/// How conversations are folded.
#[derive(Clone)]
#[non_exhaustive]
pub struct Folding {
    /// The strategy. It asks no model unless there are [`summaries`](Self::summaries).
    pub strategy: Arc<Strategy>,
    /// What summaries by a model may cost, if the clients' own providers write them.
    pub summaries: Option<Purse>,
    /// The limits of models.
    pub limits: LimitsOf,
    /// The prices of models.
    pub terms: TermsOf,
    /// Whether to change nothing and only count what would have been changed.
    pub shadow: bool,
    /// Most conversations that are kept. The least recently used goes first. If it comes back, it is followed again from
    /// its beginning.
    pub max_conversations: usize,
    /// Most bytes that all conversations together take in memory, by estimate: logs with their rows in the engine, and
    /// what is kept for reading the next request. The latest one stays, whatever it takes.
    pub max_bytes: usize,
    /// A folder that conversations are kept in, so that they survive a restart.
    pub journal: Option<PathBuf>,
    /// Most conversations that stay in that folder after they left memory. The oldest is deleted first.
    pub max_journals: usize,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// A strategy that the proxy can't run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "a model would write the summaries of {strategy}, and the proxy asks only the clients' own providers; choose \
     --summarizer MODEL, --summarizer extractive, or another preset"
)]
pub struct AsksModel {
    /// Name of the strategy.
    pub strategy: String,
}

impl Folding {
    /// Folding with a strategy, within these limits.
    ///
    /// # Errors
    ///
    /// A model writes the strategy's summaries.
    pub fn new(strategy: Arc<Strategy>, limits: LimitsOf) -> Result<Self, AsksModel> {
        if !strategy.asks().is_empty() {
            return Err(AsksModel { strategy: strategy.name.clone() });
        }
        Ok(Self::by(strategy, limits))
    }

    /// Folding with a strategy whose summaries a model of the clients' providers writes, within a budget.
    pub fn summarized(strategy: Arc<Strategy>, limits: LimitsOf, purse: Purse) -> Self {
        Self { summaries: Some(purse), ..Self::by(strategy, limits) }
    }

    fn by(strategy: Arc<Strategy>, limits: LimitsOf) -> Self {
        Self {
            strategy,
            summaries: None,
            limits,
            terms: terms_of(ModelTable::embedded(), RegimeTable::embedded()),
            shadow: false,
            max_conversations: 1_000,
            max_bytes: 1 << 30,
            journal: None,
            max_journals: 10_000,
            clock: Arc::new(SystemClock),
        }
    }
}

/// The prices of a table of models. A model whose family has no caching rules of its own is cached by those of its
/// protocol.
pub fn terms_of(models: ModelTable, regimes: RegimeTable) -> TermsOf {
    Arc::new(move |dialect, name, hour| {
        let model = models.find(name?)?;
        let asked = ServiceTerms { hour: if hour { 1.0 } else { 0.0 }, ..ServiceTerms::default() };
        let of_protocol = match dialect {
            Dialect::Anthropic if hour => "anthropic-1h",
            Dialect::Anthropic => "anthropic-5m",
            Dialect::Gemini => "gemini",
            Dialect::OpenAiChat | Dialect::OpenAiResponses => "openai",
        };
        let terms =
            regimes.own(&model, asked).or_else(|| regimes.find(of_protocol)?.priced(&model, asked));
        let terms = terms.filter(|terms| terms.rates.input > 0.0)?;
        Some((terms, model.context.max(model.long_context)))
    })
}

impl fmt::Debug for Folding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folding").field("strategy", &self.strategy.name).finish_non_exhaustive()
    }
}
