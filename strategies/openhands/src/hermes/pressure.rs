//! `hermes.pressure`: folds when the provider's count of the last request, or an estimate of the next, reaches a share of the window.

use foldback_core::fraction::Fraction;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use foldback_stages::policy::{Comparison, TokenClass, check_share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is sent; what the model generates takes no room of the next request.
const PROMPT: [TokenClass; 3] = [TokenClass::Input, TokenClass::CacheRead, TokenClass::CacheWrite];

/// Configuration of [`HermesPressure`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HermesPressureConfig {
    /// Share of the window from which it folds.
    pub share: f64,
    /// The same in a small window, where it is more.
    pub small_share: f64,
    /// Windows below this one are small.
    pub small_window: u64,
    /// Tokens below which it never folds, unless the window has no more.
    pub least: u64,
    /// Share of such a window from which it folds.
    pub near_share: f64,
    /// Tokens by which an estimate may be above what the last fold left, while the provider counts less than the threshold.
    pub defer_tokens: u64,
    /// The same as a share of the threshold, where that is more.
    pub defer_share: f64,
}

impl Default for HermesPressureConfig {
    fn default() -> Self {
        Self {
            share: 0.5,
            small_share: 0.75,
            small_window: 512_000,
            least: 64_000,
            near_share: 0.85,
            defer_tokens: 4_096,
            defer_share: 0.05,
        }
    }
}

impl HermesPressureConfig {
    /// Tokens from which it folds in a window.
    pub fn threshold(&self, window: u64) -> u64 {
        let least = if window < self.small_window { self.small_share } else { 0.0 };
        let threshold = Fraction::of(self.share.max(least)).floor_of(window).max(self.least);
        match threshold >= window {
            true => {
                Fraction::of(self.near_share).floor_of(window).min(window.saturating_sub(1)).max(1)
            }
            false => threshold,
        }
    }
}

impl StageConfig<dyn OverflowPolicy> for HermesPressureConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        check_share("share", self.share)?;
        check_share("small_share", self.small_share)?;
        check_share("near_share", self.near_share)?;
        Ok(Arc::new(HermesPressure(self)))
    }
}

/// Folds when the last request or the next reaches a share of the window.
#[derive(Clone, Debug)]
pub struct HermesPressure(HermesPressureConfig);

impl HermesPressure {
    /// Whether an estimate is not believed: the provider counts less than the threshold, and the last fold left about as much.
    fn defers(&self, pressure: &Pressure<'_>, estimate: u64, counted: u64, threshold: u64) -> bool {
        let share = Fraction::of(self.0.defer_share).floor_of(threshold);
        let tolerated = share.max(self.0.defer_tokens);
        let left = |tokens: u64| tokens + pressure.frame_tokens;
        pressure.fold_stats.last().is_some_and(|fold| {
            0 < counted
                && counted < threshold
                && estimate.saturating_sub(left(fold.tokens_after)) <= tolerated
        })
    }
}

impl OverflowPolicy for HermesPressure {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart, Moment::ProviderOverflow]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        if pressure.moment.is_reactive() {
            return Decision::ended(pressure.moment);
        }
        let window = pressure.limits.context;
        if window == 0 {
            return Decision::off("the window of the model is not known");
        }
        let trigger = self.0.threshold(window);
        let estimate = pressure.frame_tokens + pressure.view_tokens;
        let usage = pressure.usage.map(|reading| reading.usage);
        let counted = usage.map_or(0, |usage| TokenClass::sum(&PROMPT, &usage, false));
        let deferred = self.defers(pressure, estimate, counted, trigger);
        let count = if counted >= trigger || deferred { counted } else { estimate.max(counted) };
        let terms = format_args!("usage {counted}, estimate {estimate} of {window}");
        Comparison::AtLeast.decide(count, trigger, terms)
    }
}
