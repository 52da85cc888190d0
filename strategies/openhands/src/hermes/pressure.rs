//! `hermes.pressure`: folds when the provider's count of the last request, or an estimate of the next, reaches a share of the window.

use foldback_core::config::Share;
use foldback_core::fraction::Fraction;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use foldback_stages::policy::{Comparison, TokenClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is sent; what the model generates takes no room of the next request.
const PROMPT: [TokenClass; 3] = [TokenClass::Input, TokenClass::CacheRead, TokenClass::CacheWrite];

/// Percent of the window from which it folds.
const SHARE: u32 = 50;

/// The same in a small window, as the preset states it, for what is a share of the threshold.
pub(super) const SMALL_SHARE: f64 = 0.75;

/// Windows below this one are small.
const SMALL_WINDOW: u64 = 512_000;

/// Tokens below which it never folds, unless the window has no more.
const LEAST: u64 = 64_000;

/// Percent of such a window from which it folds.
const NEAR: u32 = 85;

/// Tokens by which an estimate may be above what the last fold left, while the provider counts less than the threshold.
const DEFER_TOKENS: u64 = 4_096;

/// The same in percent of the threshold, where that is more.
const DEFER: u32 = 5;

/// Tokens from which it folds in a window.
pub(super) fn threshold(window: u64, small_share: Fraction) -> u64 {
    let share = Fraction::percent(SHARE);
    let share = if window < SMALL_WINDOW { share.max(small_share) } else { share };
    match share.floor_of(window).max(LEAST) {
        threshold if threshold < window => threshold,
        _ => Fraction::percent(NEAR).floor_of(window).min(window.saturating_sub(1)).max(1),
    }
}

/// Configuration of [`HermesPressure`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HermesPressureConfig {
    /// Share of a window below 512,000 tokens from which it folds, at least a half; of a larger one it is a half.
    pub small_share: Share,
}

impl StageConfig<dyn OverflowPolicy> for HermesPressureConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        Ok(Arc::new(HermesPressure(self)))
    }
}

/// Folds when the last request or the next reaches a share of the window.
#[derive(Clone, Debug)]
pub struct HermesPressure(HermesPressureConfig);

impl HermesPressure {
    /// Whether an estimate is not believed: the provider counts less than the threshold, and the last fold left about as much.
    fn defers(pressure: &Pressure<'_>, estimate: u64, counted: u64, threshold: u64) -> bool {
        let share = Fraction::percent(DEFER).floor_of(threshold);
        let tolerated = share.max(DEFER_TOKENS);
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
        let trigger = threshold(window, *self.0.small_share);
        let estimate = pressure.frame_tokens + pressure.view_tokens;
        let usage = pressure.usage.map(|reading| reading.usage);
        let counted = usage.map_or(0, |usage| TokenClass::sum(&PROMPT, &usage, false));
        let deferred = Self::defers(pressure, estimate, counted, trigger);
        let count = if counted >= trigger || deferred { counted } else { estimate.max(counted) };
        let terms = format_args!("usage {counted}, estimate {estimate} of {window}");
        Comparison::AtLeast.decide(count, trigger, terms)
    }
}
