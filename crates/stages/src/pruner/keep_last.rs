//! `keep-last`: clears every tool result but the newest ones.
//!
//! The boundary moves in steps, as with `polling` of SWE-agent's `last_n_observations` processor
//! (v1.0): with a batch of K the view changes at every K-th result instead of at each, and between two
//! changes the beginning of the request, which a provider may have cached, stays as it is.

use super::results::{DEFAULT_PLACEHOLDER, check_placeholder, gain, standing};
use foldback_core::meter::{LastText, MeteredResult};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`KeepLast`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeepLastConfig {
    /// Tool results that stay, counted from the newest.
    pub keep: usize,
    /// Results by which the boundary moves at once; up to `batch` - 1 more than `keep` stay meanwhile.
    pub batch: usize,
    /// What replaces a cleared result.
    pub placeholder: String,
}

impl Default for KeepLastConfig {
    fn default() -> Self {
        Self { keep: 10, batch: 1, placeholder: DEFAULT_PLACEHOLDER.to_owned() }
    }
}

impl StageConfig<dyn Pruner> for KeepLastConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        if self.batch == 0 {
            return Err(Invalid::new("batch", "must be 1 or more; 1 moves at each result"));
        }
        check_placeholder(&self.placeholder)?;
        Ok(Arc::new(KeepLast { placeholder: self.placeholder.as_str().into(), config: self }))
    }
}

/// Clears every tool result but the newest ones. A result that would not get smaller stays, and counts.
///
/// Results count, not calls: of several results of one answer the first ones may go before the model has
/// seen them.
#[derive(Clone, Debug)]
pub struct KeepLast {
    config: KeepLastConfig,
    placeholder: Arc<str>,
}

/// How many of `results`, from the oldest, are cleared: all but `keep`, of as many as fill whole
/// batches. `batch` must not be 0.
pub fn boundary(results: usize, keep: usize, batch: usize) -> usize {
    (results / batch * batch).saturating_sub(keep)
}

impl Pruner for KeepLast {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let KeepLastConfig { keep, batch, .. } = self.config;
        // All results count, cleared and hidden ones too: the boundary must not depend on what earlier
        // runs did.
        let results = context.meter.results();
        let cleared = boundary(results.len(), keep, batch);
        let first_kept = results.get(cleared).map(|result| result.at);
        let mut last = LastText::default();
        let going: Vec<&MeteredResult> = standing(context)
            .take_while(|result| first_kept.is_none_or(|first| result.at < first))
            .filter(|result| gain(context, result, &self.placeholder, &mut last) > 0)
            .collect();
        if going.is_empty() {
            return Pruning::Nothing(Why::new(
                "nothing-to-clear",
                format!(
                    "{} tool results, the newest {} stay, and none before them is left to clear",
                    results.len(),
                    results.len() - cleared
                ),
            ));
        }
        Pruning::Edits {
            prunable: going.iter().map(|result| result.tokens).sum(),
            reason: format!(
                "clears {} tool results: of {} the newest {} stay",
                going.len(),
                results.len(),
                results.len() - cleared
            ),
            edits: context.clear(
                going.iter().map(|result| result.at),
                &self.placeholder,
                "older than the results that stay",
            ),
        }
    }
}
