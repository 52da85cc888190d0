//! `tiered.residual`: residuals stay, the newest messages stay, everything else is summarized, the
//! harder the older.
//!
//! The layout is: system messages that open the history, one user message with the summaries of tiers
//! 3, 2 and 1 under headings, then residuals and tier 0 in original order.

use crate::cache::{CacheStatistics, Cached, SummaryCache};
use crate::config::TieredConfig;
use crate::cut::Cut;
use crate::fold::Fold;
use crate::reference::ContextReferences;
use crate::render;
use crate::tiers::TIERS;
use crate::truncate;
use foldback_core::fraction::Fraction;
use foldback_core::log::Message;
use foldback_core::moment::Trigger;
use foldback_core::outcome::Why;
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext, Summarizer, Summary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Name of the stage.
pub const NAME: &str = "tiered.residual";

/// Tiers that are summarized, in the order in which their summaries stand.
const SUMMARISED: [usize; TIERS - 1] = [3, 2, 1];

/// The filter.
#[derive(Clone, Debug)]
pub struct TieredResidual {
    pub(crate) config: TieredConfig,
    pub(crate) cache: Arc<SummaryCache>,
    pub(crate) references: Arc<ContextReferences>,
}

impl TieredResidual {
    /// A filter with a cache and a store of its own. Use [`TieredConfig::filter`], which checks the
    /// configuration.
    pub(crate) fn new(config: TieredConfig, cache: NonZeroUsize, references: NonZeroUsize) -> Self {
        Self {
            cache: Arc::new(SummaryCache::new(cache)),
            references: Arc::new(ContextReferences::new(references, config.reference_eviction)),
            config,
        }
    }

    /// This filter with a shared cache.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<SummaryCache>) -> Self {
        self.cache = cache;
        self
    }

    /// This filter with a shared store, for example that of the agent's look-up tool.
    #[must_use]
    pub fn with_references(mut self, references: Arc<ContextReferences>) -> Self {
        self.references = references;
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
        if wanted < floor {
            return Allowance::Sentences(wanted);
        }
        let dealt = cut.budget.map_or(u64::MAX, |budget| budget.tier(tier));
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
    /// The tier is so small that its sentences are cut to so many tokens.
    Sentences(u64),
    /// No room at all.
    Nothing,
}

fn request_name(tier: usize) -> String {
    format!("tier-{tier}")
}

impl Filter for TieredResidual {
    fn propose(&self, context: &StageContext<'_>) -> Result<Proposal, Why> {
        if !self.config.tiered {
            return Err(Why::new("off", "tiered compression is switched off"));
        }
        let cut = Cut::new(&self.config, context);
        // Before anybody is asked: what if the summaries took nothing at all?
        let mut least = cut.kept_tokens(context);
        if self.config.budget && self.config.cut_tool_results {
            let raw = cut.positions(&cut.tiers[0]);
            let floor = self.config.min_result_tokens;
            least = least.saturating_sub(render::cuttable_tokens(context, &raw, floor));
        }
        self.worthwhile(context, least)?;
        let requests = SUMMARISED
            .into_iter()
            .filter(|tier| !cut.tiers[*tier].is_empty())
            .filter_map(|tier| match self.allowance(&cut, tier) {
                Allowance::Summary(budget) => Some(context.summary(
                    &request_name(tier),
                    &format!("tiered.{tier}"),
                    || cut.messages(tier),
                    budget,
                )),
                Allowance::Sentences(_) | Allowance::Nothing => None,
            })
            .collect();
        Ok(Proposal { requests, reasons: cut.reasons() })
    }

    fn arrange(
        &self,
        context: &StageContext<'_>,
        proposal: &Proposal,
        summaries: &[Option<Summary>],
    ) -> Result<Arrangement, Why> {
        let cut = Cut::new(&self.config, context);
        let mut fold = Fold::new(self, context, &cut);
        for tier in SUMMARISED {
            if cut.tiers[tier].is_empty() {
                continue;
            }
            let name = request_name(tier);
            let answer = proposal
                .requests
                .iter()
                .position(|request| request.name == name)
                .and_then(|index| summaries.get(index));
            fold.add_tier(tier, answer);
        }
        fold.finish()
    }

    fn summarizer(&self, own: Arc<dyn Summarizer>) -> Arc<dyn Summarizer> {
        Arc::new(Cached { own, cache: Arc::clone(&self.cache) })
    }

    fn report(&self) -> BTreeMap<String, Value> {
        let cache = self.cache.statistics();
        let mut table = json!(cache);
        table["hit_rate"] = json!(cache.hit_rate());
        BTreeMap::from([("summary-cache".to_owned(), table)])
    }
}
