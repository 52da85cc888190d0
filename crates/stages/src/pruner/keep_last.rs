//! `keep-last`: clears every tool result but the newest ones.
//!
//! The boundary moves in steps, as with `polling` of SWE-agent's `last_n_observations` processor
//! (v1.0): with a batch of K the view changes at every K-th result instead of at each, and between two
//! changes the beginning of the request, which a provider may have cached, stays as it is.

use super::placeholder::Placeholder;
use super::results::{DEFAULT_PLACEHOLDER, check_placeholder, gain, standing};
use foldback_core::meter::{LastText, MeteredResult};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Configuration of [`KeepLast`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeepLastConfig {
    /// Tool results that stay, counted from the newest.
    pub keep: usize,
    /// Results by which the boundary moves at once; up to `batch` - 1 more than `keep` stay meanwhile.
    pub batch: usize,
    /// Observations before the first tool result that count with the results and always stay: SWE-agent counts
    /// the task as one.
    pub counted_before: usize,
    /// What replaces a cleared result; `{lines}` is the number of its lines.
    pub placeholder: String,
    /// What the placeholder of a result with images ends with; `{images}` is their number.
    pub images: String,
}

impl Default for KeepLastConfig {
    fn default() -> Self {
        Self {
            keep: 10,
            batch: 1,
            counted_before: 0,
            placeholder: DEFAULT_PLACEHOLDER.to_owned(),
            images: String::new(),
        }
    }
}

impl StageConfig<dyn Pruner> for KeepLastConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        if self.batch == 0 {
            return Err(Invalid::new("batch", "must be 1 or more; 1 moves at each result"));
        }
        check_placeholder(&self.placeholder)?;
        Ok(Arc::new(KeepLast {
            placeholder: Placeholder::new(&self.placeholder, &self.images),
            config: self,
        }))
    }
}

/// Clears every tool result but the newest ones. A result that would not get smaller stays, and counts.
///
/// Results count, not calls: of several results of one answer the first ones may go before the model has
/// seen them.
#[derive(Clone, Debug)]
pub struct KeepLast {
    config: KeepLastConfig,
    placeholder: Placeholder,
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
        let KeepLastConfig { keep, batch, counted_before, .. } = self.config;
        // All results count, cleared and hidden ones too: the boundary must not depend on what earlier
        // runs did.
        let results = context.meter.results();
        let cleared =
            boundary(results.len() + counted_before, keep, batch).saturating_sub(counted_before);
        let first_kept = results.get(cleared).map(|result| result.at);
        let (mut shortest, mut last) = (LastText::default(), LastText::default());
        let older = standing(context)
            .take_while(|result| first_kept.is_none_or(|first| result.at < first))
            // Most results that are too short to clear need not be read for it.
            .filter(|result| gain(context, result, self.placeholder.shortest(), &mut shortest) > 0);
        let mut going: Vec<&MeteredResult> = Vec::new();
        let mut edits = Vec::new();
        for result in older {
            let placeholder = self.placeholder.text(context, result.at);
            let gain = match &placeholder {
                Cow::Borrowed(fixed) => gain(context, result, fixed, &mut last),
                Cow::Owned(own) => gain(context, result, own, &mut LastText::default()),
            };
            if gain > 0 && !self.placeholder.stands_for(context, result.at) {
                let reason = "older than the results that stay";
                edits.extend(context.clear([result.at], &placeholder, reason));
                going.push(result);
            }
        }
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
            edits,
        }
    }
}
