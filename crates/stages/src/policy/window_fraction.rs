//! `window-fraction`: folds when the next request would take more than a share of the usable window.
//!
//! What is compared is the whole next request, frame and view; what it is compared with leaves room
//! for the answer. Both are what users of existing systems ask for most: thresholds that know the
//! system prompt and the tools, and that scale with the model.
//!
//! Asked because a provider refused a request (`when = ["call-start", "provider-overflow"]`), it folds
//! whatever the count says: the provider counts better. The target is then the same share of the count
//! as it would be of the trigger, for estimators that count too low.
//!
//! With `by_usage` count and trigger are in the provider's tokens, as far as the usage of the last answer tells ([`Rate`]), and
//! the target is in those of the estimator, by which a fold counts what it leaves.

use crate::rate::Rate;
use crate::usable::{Usable, check_shares};
use foldback_core::fold_stats::FoldStats;
use foldback_core::limits::Limits;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`WindowFraction`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WindowFractionConfig {
    /// Share of the usable window above which it folds (0 to 1).
    pub trigger: f64,
    /// Share of the usable window above which it folds after a pause that the provider's prompt cache does not outlive (0 to
    /// `trigger`): a fold costs no cached prefix then.
    pub cold_trigger: Option<f64>,
    /// Seconds after which the prompt cache of the provider has expired. Where usage tells that it was asked to keep prefixes for
    /// longer, so long.
    pub cold_after: u64,
    /// Share of the usable window that a fold brings the request down to (0 to `trigger`).
    pub target: f64,
    /// Share of the usable window that a fold must not go below (0 to `target`).
    pub floor: f64,
    /// Whether the output limit is subtracted from the window first. A limit of the input alone already leaves it out.
    pub reserve_output: bool,
    /// Whether the request is counted by the usage of the last answer and an estimate of what came since, scaled by what that usage
    /// says of the estimator.
    pub by_usage: bool,
    /// A larger usable window counts as one of so many tokens: a long context is paid for at every call, however much would fit.
    pub window_at_most: Option<u64>,
    /// Whether the target moves with what the last folds of the conversation brought and what was missed after them.
    pub adaptive: bool,
}

impl Default for WindowFractionConfig {
    fn default() -> Self {
        Self {
            trigger: 0.8,
            cold_trigger: None,
            cold_after: 300,
            target: 0.5,
            floor: 0.0,
            reserve_output: true,
            by_usage: false,
            window_at_most: None,
            adaptive: false,
        }
    }
}

impl StageConfig<dyn OverflowPolicy> for WindowFractionConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        Ok(Arc::new(self.checked()?))
    }
}

impl WindowFractionConfig {
    /// The policy, if nothing is wrong with its shares.
    pub(crate) fn checked(self) -> Result<WindowFraction, Invalid> {
        check_shares(self.trigger, self.target)?;
        if self.window_at_most == Some(0) {
            return Err(Invalid::new("window_at_most", "must be above 0"));
        }
        if self.cold_trigger.is_some_and(|cold| !(cold >= 0.0 && cold <= self.trigger)) {
            return Err(Invalid::new(
                "cold_trigger",
                format!("must lie between 0 and `trigger` ({})", self.trigger),
            ));
        }
        if !(self.floor >= 0.0 && self.floor <= self.target) {
            return Err(Invalid::new(
                "floor",
                format!("must lie between 0 and `target` ({})", self.target),
            ));
        }
        Ok(WindowFraction { config: self })
    }
}

/// Folds when the next request would take more than a share of the usable window.
#[derive(Clone, Debug)]
pub struct WindowFraction {
    config: WindowFractionConfig,
}

impl WindowFraction {
    fn usable(&self, limits: Limits) -> Option<Usable> {
        let usable = Usable::new(limits, self.config.reserve_output)?;
        Some(usable.at_most(self.config.window_at_most.unwrap_or(u64::MAX)))
    }
}

impl OverflowPolicy for WindowFraction {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        let Some(usable) = self.usable(pressure.limits) else {
            return Decision::off("the window of the model is not known");
        };
        let WindowFractionConfig { trigger: share_of_trigger, target, floor, adaptive, .. } =
            self.config;
        let (share_of_target, learned) = if adaptive {
            adapted(&self.config, pressure.fold_stats)
        } else {
            (target, String::new())
        };
        let estimate = pressure.frame_tokens + pressure.view_tokens;
        let rate = self.config.by_usage.then(|| Rate::from_pressure(pressure));
        let count = rate.map_or(estimate, |rate| rate.provider(estimate));
        let trigger = usable.share(share_of_trigger);
        // What a fold brings down is counted by the estimator.
        let target = rate.map_or(usable.share(share_of_target), |rate| {
            rate.estimator(usable.share(share_of_target))
        });
        if pressure.moment == Moment::ProviderOverflow {
            let of_count = (estimate as f64 * share_of_target / share_of_trigger) as u64;
            return Decision {
                fold: usable.tokens > 0,
                count,
                trigger,
                target: Some(target.min(of_count)),
                floor: None,
                reason: format!("the provider refused {count} tokens by this estimate{learned}"),
            };
        }
        let cold_after = self.config.cold_after.max(pressure.cached_for.unwrap_or(0));
        let cold = pressure.idle_ms.filter(|idle| *idle > cold_after.saturating_mul(1_000));
        let (trigger, share_of_trigger, learned) = match (self.config.cold_trigger, cold) {
            (Some(share), Some(idle)) => {
                let pause = format!("; the cache is cold after a pause of {} s", idle / 1_000);
                (usable.share(share), share, learned + &pause)
            }
            _ => (trigger, share_of_trigger, learned),
        };
        let fold = usable.tokens > 0 && count > trigger;
        let sign = if count > trigger { ">" } else { "<=" };
        Decision {
            fold,
            count,
            trigger,
            target: Some(target),
            floor: (floor > 0.0).then(|| usable.share(floor)),
            reason: format!(
                "{count} {sign} {trigger} ({share_of_trigger} of {}){learned}",
                usable.arithmetic
            ),
        }
    }

    fn refuses(&self, limits: Limits) -> Option<String> {
        let usable = self.usable(limits)?;
        (usable.share(self.config.trigger) == 0).then(|| {
            format!(
                "the usable window is {} tokens ({}): every request would overflow; raise the context",
                usable.tokens, usable.arithmetic
            )
        })
    }
}

/// Folds that an adaptive target looks back on.
const LOOK_BACK: usize = 3;
/// How far the target moves for each sign.
const STEP: f64 = 0.05;
/// A fold that takes off less than this share of the view was hardly worth its summary.
const LITTLE: f64 = 0.2;

/// The target after what the last folds brought, and why, as the end of a sentence. It rises, so that
/// more stays, by a step for each fold after which something was asked for again; it falls, so that
/// folds are fewer, by a step for each that took off little and was not missed.
fn adapted(config: &WindowFractionConfig, fold_stats: &[FoldStats]) -> (f64, String) {
    let recent = &fold_stats[fold_stats.len().saturating_sub(LOOK_BACK)..];
    let missed = recent.iter().filter(|fold| fold.missed > 0).count();
    let idle = recent.iter().filter(|fold| fold.missed == 0 && fold.gain() < LITTLE).count();
    if missed == idle {
        return (config.target, String::new());
    }
    let moved = config.target + STEP * (missed as f64 - idle as f64);
    let lowest = config.floor.max(STEP).min(config.target);
    let highest = (config.trigger - STEP).max(config.target);
    let target = moved.clamp(lowest, highest);
    let reason = format!(
        "; target {:.2} for {:.2}: of the last {} folds {missed} were missed and {idle} took off little",
        target,
        config.target,
        recent.len()
    );
    (target, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(config: WindowFractionConfig, limits: Limits, frame: u64, view: u64) -> Decision {
        config.build().unwrap().decide(&Pressure {
            view_tokens: view,
            frame_tokens: frame,
            ..Pressure::at(Moment::CallStart, limits)
        })
    }

    #[test]
    fn decisions_as_a_table() {
        let default = WindowFractionConfig::default;
        let whole = || WindowFractionConfig { reserve_output: false, ..default() };
        let most = |tokens| WindowFractionConfig { window_at_most: Some(tokens), ..default() };
        // name, configuration, limits, frame, view, fold, trigger, target
        let cases = [
            (
                "at the trigger",
                default(),
                Limits::new(100_000, 20_000),
                0,
                64_000,
                false,
                64_000,
                40_000,
            ),
            ("above it", default(), Limits::new(100_000, 20_000), 0, 64_001, true, 64_000, 40_000),
            (
                "the frame counts",
                default(),
                Limits::new(100_000, 20_000),
                4_001,
                60_000,
                true,
                64_000,
                40_000,
            ),
            (
                "output not reserved",
                whole(),
                Limits::new(100_000, 20_000),
                0,
                64_001,
                false,
                80_000,
                50_000,
            ),
            (
                "the input limit goes first",
                default(),
                Limits::new(100_000, 20_000).with_input(50_000),
                0,
                40_001,
                true,
                40_000,
                25_000,
            ),
            (
                "a smaller window",
                most(120_000),
                Limits::new(100_000, 0),
                0,
                0,
                false,
                80_000,
                50_000,
            ),
            (
                "a larger window",
                most(50_000),
                Limits::new(100_000, 0),
                0,
                40_001,
                true,
                40_000,
                25_000,
            ),
        ];
        for (name, config, limits, frame, view, fold, trigger, target) in cases {
            let decision = decide(config, limits, frame, view);
            assert_eq!(
                (decision.fold, decision.trigger, decision.target, decision.floor),
                (fold, trigger, Some(target), None),
                "{name}: {}",
                decision.reason
            );
        }
    }

    #[test]
    fn an_adaptive_target_as_a_table() {
        let fold = |missed, after| FoldStats {
            tokens_before: 100,
            tokens_after: after,
            missed,
            ..FoldStats::default()
        };
        let (missed, little, fine) = (fold(2, 40), fold(0, 95), fold(0, 40));
        // name, adaptive, folds so far, target in tokens, whether the reason tells of it
        let cases = [
            ("no folds", true, vec![], 40_000, false),
            ("all fine", true, vec![fine, fine], 40_000, false),
            ("missed once", true, vec![fine, missed], 44_000, true),
            ("missed thrice", true, vec![missed, missed, missed], 52_000, true),
            ("long ago", true, vec![missed, fine, fine, fine], 40_000, false),
            ("little gain", true, vec![little, little], 32_000, true),
            ("both", true, vec![missed, little], 40_000, false),
            ("off", false, vec![missed, missed], 40_000, false),
        ];
        for (name, adaptive, fold_stats, target, says_so) in cases {
            let config = WindowFractionConfig { adaptive, ..WindowFractionConfig::default() };
            let decision = config.build().unwrap().decide(&Pressure {
                view_tokens: 70_000,
                fold_stats: &fold_stats,
                ..Pressure::at(Moment::CallStart, Limits::new(100_000, 20_000))
            });
            assert_eq!(decision.target, Some(target), "{name}");
            assert_eq!(decision.reason.contains("folds"), says_so, "{name}: {}", decision.reason);
            assert_eq!((decision.fold, decision.trigger), (true, 64_000), "{name}");
        }
    }

    #[test]
    fn a_refusal_counts_more_than_the_count() {
        // tokens counted, target
        for (count, target) in [(90_000, 40_000), (40_000, 25_000), (0, 0)] {
            let policy = WindowFractionConfig::default().build().unwrap();
            let decision = policy.decide(&Pressure {
                view_tokens: count,
                ..Pressure::at(Moment::ProviderOverflow, Limits::new(100_000, 20_000))
            });
            let got = (decision.fold, decision.target);
            assert_eq!(got, (true, Some(target)), "{}", decision.reason);
        }
    }

    #[test]
    fn by_usage_as_a_table() {
        use foldback_core::log::Usage;
        use foldback_core::stage::{UsageReading, UsageSource};
        // by usage, usage of the answer, count, target in tokens of the estimator
        let cases = [
            (false, Some(84_000), 80_000, 50_000),
            (true, Some(84_000), 96_000, 41_667),
            (true, None, 80_000, 50_000),
        ];
        for (by_usage, used, count, target) in cases {
            let config =
                WindowFractionConfig { by_usage, reserve_output: false, ..Default::default() };
            let decision = config.build().unwrap().decide(&Pressure {
                view_tokens: 80_000,
                usage: used.map(|used| UsageReading {
                    usage: Usage { uncached: used, ..Usage::default() },
                    source: UsageSource::Provider,
                }),
                since_answer: 10_000,
                ..Pressure::at(Moment::CallStart, Limits::new(100_000, 0))
            });
            let got = (decision.count, decision.trigger, decision.target);
            assert_eq!(got, (count, 80_000, Some(target)), "{by_usage} {used:?}");
        }
    }

    #[test]
    fn a_cold_cache_has_a_trigger_of_its_own() {
        // cold trigger, milliseconds since the last answer, seconds that the cache is kept, tokens, trigger, fold
        let cases = [
            (Some(0.5), None, None, 50_001, 80_000, false),
            (Some(0.5), Some(300_000), None, 50_001, 80_000, false),
            (Some(0.5), Some(300_001), None, 50_001, 50_000, true),
            (Some(0.5), Some(300_001), None, 50_000, 50_000, false),
            (Some(0.5), Some(300_001), Some(300), 50_001, 50_000, true),
            (Some(0.5), Some(3_600_000), Some(3_600), 50_001, 80_000, false),
            (Some(0.5), Some(3_600_001), Some(3_600), 50_001, 50_000, true),
            (None, Some(300_001), None, 50_001, 80_000, false),
        ];
        for (cold_trigger, idle_ms, cached_for, view_tokens, trigger, fold) in cases {
            let config = WindowFractionConfig { cold_trigger, ..WindowFractionConfig::default() };
            let decision = config.build().unwrap().decide(&Pressure {
                view_tokens,
                idle_ms,
                cached_for,
                ..Pressure::at(Moment::CallStart, Limits::new(100_000, 0))
            });
            let got = (decision.trigger, decision.fold);
            assert_eq!(got, (trigger, fold), "{cold_trigger:?} {idle_ms:?} {}", decision.reason);
        }
        let above = WindowFractionConfig { cold_trigger: Some(0.9), ..Default::default() };
        assert!(above.build().is_err(), "above the trigger it would never act");
    }

    #[test]
    fn an_unknown_window_never_folds() {
        let decision = decide(WindowFractionConfig::default(), Limits::default(), 0, 1 << 40);
        assert!(!decision.fold);
    }

    #[test]
    fn limits_that_leave_nothing_are_refused() {
        let policy = WindowFractionConfig::default().build().unwrap();
        let cases = [
            (Limits::new(1, 32_000), true),
            (Limits::new(8_000, 32_000), false),
            (Limits::new(8_000, 32_000).with_input(8_000), false),
            (Limits::default(), false),
        ];
        for (limits, refused) in cases {
            assert_eq!(policy.refuses(limits).is_some(), refused, "{limits:?}");
        }
    }

    #[test]
    fn shares_out_of_order_are_refused() {
        let default = WindowFractionConfig::default;
        let cases = [
            (WindowFractionConfig { trigger: 0.0, ..default() }, "trigger"),
            (WindowFractionConfig { trigger: 1.1, ..default() }, "trigger"),
            (WindowFractionConfig { trigger: f64::NAN, ..default() }, "trigger"),
            (WindowFractionConfig { target: 0.9, ..default() }, "target"),
            (WindowFractionConfig { floor: 0.6, ..default() }, "floor"),
            (WindowFractionConfig { window_at_most: Some(0), ..default() }, "window_at_most"),
        ];
        for (config, path) in cases {
            let refused = config.clone().build().err().map(|invalid| invalid.path);
            assert_eq!(refused.as_deref(), Some(path), "{config:?}");
        }
    }
}
