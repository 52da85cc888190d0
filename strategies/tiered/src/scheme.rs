//! What a tier's summary may take, what its sentences are cut to, and whether a fold is worth it.

use crate::cache::{CacheStatistics, SummaryCache};
use crate::config::{TieredConfig, entries};
use crate::cut::Cut;
use crate::reference::ContextReferences;
use crate::{render, truncate};
use foldback_core::fraction::Fraction;
use foldback_core::log::Message;
use foldback_core::moment::Trigger;
use foldback_core::outcome::Why;
use foldback_core::registry::Invalid;
use foldback_core::stage::StageContext;
use std::sync::Arc;

/// The filter, with what it keeps from fold to fold.
#[derive(Clone, Debug)]
pub struct TieredResidual {
    pub(crate) config: TieredConfig,
    pub(crate) cache: Arc<SummaryCache>,
    pub(crate) references: Arc<ContextReferences>,
}

impl TieredConfig {
    /// Checks the values and makes the filter, with a cache and a store of its own.
    ///
    /// # Errors
    ///
    /// The first value that can't be used.
    pub fn filter(self) -> Result<TieredResidual, Invalid> {
        self.check()?;
        let cache = entries("cache_entries", self.cache_entries)?;
        let references = entries("reference_entries", self.reference_entries)?;
        Ok(TieredResidual {
            cache: Arc::new(SummaryCache::new(cache)),
            references: Arc::new(ContextReferences::new(references, self.reference_eviction)),
            config: self,
        })
    }
}

impl TieredResidual {
    /// This filter with a shared cache.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<SummaryCache>) -> Self {
        self.cache = cache;
        self
    }

    /// Hits and misses of the summary cache.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.cache.statistics()
    }

    /// The stored originals of what was summarized.
    pub fn references(&self) -> &Arc<ContextReferences> {
        &self.references
    }

    /// What a summary of a tier may take, and whether it is worth asking a summarizer for.
    pub(crate) fn allowance(&self, cut: &Cut<'_>, tier: usize) -> Allowance {
        let wanted = Fraction::percent(self.config.preserve[tier - 1]).floor_of(cut.sizes[tier]);
        let floor = self.config.min_summary_tokens;
        let dealt = cut.budget.map(|budget| budget.tier(tier));
        if wanted < floor {
            // A share of so little would say nothing. What fits the tier's budget stays whole.
            let fits = dealt.filter(|dealt| cut.sizes[tier] <= *dealt);
            return Allowance::Sentences(fits.unwrap_or(wanted));
        }
        let dealt = dealt.unwrap_or(u64::MAX);
        match wanted.min(dealt).max(floor) {
            0 => Allowance::Nothing,
            tokens => Allowance::Summary(tokens),
        }
    }

    pub(crate) fn by_sentence(
        &self,
        context: &StageContext<'_>,
        text: &str,
        tokens: u64,
    ) -> String {
        let estimator = context.estimator();
        let cut = |text: &str, target| {
            if self.config.doc_exact {
                truncate::by_sentence_exact(text, target, &self.config.keywords)
            } else {
                truncate::by_sentence(text, target, &self.config.keywords)
            }
        };
        let whole = estimator.text(text);
        truncate::to_tokens(text, whole, tokens, |text| estimator.text(text), cut)
    }

    /// Refuses an automatic fold that frees too little: each one costs a prompt cache,
    /// and where tier 0 alone is too large the next call would ask for another.
    pub(crate) fn worthwhile(&self, context: &StageContext<'_>, after: u64) -> Result<(), Why> {
        let before = context.view_tokens();
        let gain = before.saturating_sub(after);
        let least = Fraction::percent(self.config.min_gain_percent).ceil_of(before);
        if context.trigger == Trigger::Manual || gain >= least {
            return Ok(());
        }
        Err(Why::new(
            "not-worthwhile",
            format!(
                "a fold would free {gain} of {before} tokens, less than {} %",
                self.config.min_gain_percent
            ),
        ))
    }

    /// The text of a tier without a summary.
    pub(crate) fn sentences(
        &self,
        context: &StageContext<'_>,
        messages: &[Arc<Message>],
        tokens: u64,
    ) -> String {
        self.by_sentence(context, &render::transcript(messages), tokens)
    }
}

/// What a tier's summary may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// A summary of so many tokens.
    Summary(u64),
    /// The tier is so small that no summary is asked for: its sentences have at most so many tokens.
    Sentences(u64),
    /// No room at all.
    Nothing,
}
