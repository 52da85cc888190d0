//! `tiered.residual`: residuals stay, the newest messages stay, everything else is summarized, the
//! harder the older.
//!
//! The layout is: system messages that open the history, one user message with the summaries of tiers
//! 3, 2 and 1 under headings, then residuals and tier 0 in original order.

use crate::cache::Cached;
use crate::config::TieredConfig;
use crate::cut::Cut;
use crate::fold::Fold;
use crate::render;
use crate::scheme::{Allowance, TieredResidual};
use crate::tiers::TIERS;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, Summarizer, Summary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the stage.
pub const NAME: &str = "tiered.residual";

/// Tiers that are summarized, in the order in which their summaries stand.
const SUMMARISED: [usize; TIERS - 1] = [3, 2, 1];

impl StageConfig<dyn Filter> for TieredConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(self.filter()?))
    }
}

impl Filter for TieredResidual {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
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
                    &format!("tier-{tier}"),
                    &format!("tiered.{tier}"),
                    || cut.messages(tier),
                    budget,
                )),
                Allowance::Sentences(_) | Allowance::Nothing => None,
            })
            .collect();
        let reasons = cut.reasons();
        let then = move |summaries: &[Option<Summary>]| {
            let mut fold = Fold::new(self, context, &cut);
            let mut answers = summaries.iter();
            for tier in SUMMARISED.into_iter().filter(|tier| !cut.tiers[*tier].is_empty()) {
                fold.add_tier(tier, &mut answers);
            }
            fold.finish()
        };
        Ok(Proposal::Then { requests, reasons, then: Box::new(then) })
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
