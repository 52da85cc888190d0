//! `oh-my-pi.usage`: folds when the request comes within a reserve of the window that grows with it.

use foldback_core::fraction::Fraction;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use foldback_stages::policy::TokenClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`OmpUsage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OmpUsageConfig {
    /// Tokens that are kept free below the window at least, unless that leaves no more than the share.
    pub reserve: u64,
    /// Share of the window that is kept free at least (0 to 1).
    pub reserve_share: f64,
}

impl Default for OmpUsageConfig {
    fn default() -> Self {
        Self { reserve: 16_384, reserve_share: 0.15 }
    }
}

impl StageConfig<dyn OverflowPolicy> for OmpUsageConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        if !(0.0..1.0).contains(&self.reserve_share) {
            return Err(Invalid::new("reserve_share", "must be a share of the window, e.g. 0.15"));
        }
        Ok(Arc::new(OmpUsage(self)))
    }
}

/// Folds when the request comes within a reserve of the window.
#[derive(Clone, Debug)]
pub struct OmpUsage(OmpUsageConfig);

impl OmpUsage {
    /// The limit, and what is kept free below the window.
    pub fn limit(&self, window: u64) -> (u64, u64) {
        let share = Fraction::of(self.0.reserve_share).floor_of(window);
        let reserve = share.max(self.0.reserve);
        let reserve = match share.max(1) {
            share if reserve >= window.saturating_sub(share) => share,
            _ => reserve,
        };
        (window.saturating_sub(reserve.max(1)), reserve)
    }
}

impl OverflowPolicy for OmpUsage {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::StepEnd, Moment::ProviderOverflow]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        if pressure.moment.is_reactive() {
            return Decision::ended(pressure.moment);
        }
        let window = pressure.limits.context;
        if window == 0 {
            return Decision::off("the window of the model is not known");
        }
        let used = pressure
            .usage
            .map_or(0, |reading| TokenClass::sum(&TokenClass::ALL, &reading.usage, true));
        let estimate = pressure.frame_tokens + pressure.view_tokens;
        let (trigger, reserve) = self.limit(window);
        let count = used.max(estimate);
        let sign = if count > trigger { ">" } else { "<=" };
        let reason = format!(
            "{count} {sign} {trigger} (usage {used}, estimate {estimate}; {window} - {reserve})"
        );
        Decision { fold: count > trigger, count, trigger, target: None, floor: None, reason }
    }
}
