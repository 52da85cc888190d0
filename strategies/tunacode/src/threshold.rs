//! `tunacode.threshold`: when tunacode's controller compacts.

use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use foldback_stages::policy::Comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`Threshold`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThresholdConfig {
    /// Tokens that are kept free for the answer.
    pub reserve_tokens: u64,
    /// Tokens that a fold will keep, which are taken off the threshold as well.
    pub keep_recent_tokens: u64,
}

impl Default for ThresholdConfig {
    fn default() -> Self {
        Self { reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

impl StageConfig<dyn OverflowPolicy> for ThresholdConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        Ok(Arc::new(Threshold(self)))
    }
}

/// Folds above the window less a reserve and what a fold keeps, and where the provider refused.
#[derive(Clone, Debug)]
pub struct Threshold(ThresholdConfig);

impl OverflowPolicy for Threshold {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::TurnStart, Moment::ProviderOverflow]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        if pressure.moment.is_reactive() {
            let reason = "the provider refused the request";
            return Decision { fold: true, ..Decision::off(reason) };
        }
        let ThresholdConfig { reserve_tokens: reserve, keep_recent_tokens: keep } = self.0;
        let (count, window) = (pressure.view_tokens, pressure.limits.context);
        if window == 0 {
            return Decision::off("the window of the model is not known");
        }
        let trigger = window.saturating_sub(reserve).saturating_sub(keep);
        let fold = Comparison::Above.holds(count, trigger);
        let sign = Comparison::Above.sign(fold);
        let reason = format!("{count} {sign} {trigger} ({window} - {reserve} - {keep})");
        Decision { fold, count, trigger, target: None, floor: None, reason }
    }
}
