//! `break-even`: folds once carrying on has cost what a fold costs.
//!
//! Every answer since the last fold has read the view from the cache, and with it what a fold would leave out. A fold has what it leaves
//! written anew, and some of what went is read again. It pays for itself where
//!
//! ```text
//! Σ read · (view − left) ≥ factor · ((write − read) · left + write · again)
//! ```
//!
//! with the prices of the model in force. `left` is what the last fold left, and before the first one the target. Where the cache has
//! expired, nothing is written for the fold's sake. The trigger holds beside it, and it alone where no prices are known.

use crate::policy::{WindowFraction, WindowFractionConfig};
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{CachePrices, Decision, OverflowPolicy, Pressure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`BreakEven`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BreakEvenConfig {
    /// Share of the usable window above which it folds in any case (0 to 1).
    pub trigger: f64,
    /// Share of the usable window that a fold brings the request down to (0 to `trigger`).
    pub target: f64,
    /// Whether the output limit is subtracted from the window first. A limit of the input alone already leaves it out.
    pub reserve_output: bool,
    /// Whether the request is counted by the usage of the last answer, as in `window-fraction`.
    pub by_usage: bool,
    /// A larger usable window counts as one of so many tokens.
    pub window_at_most: Option<u64>,
    /// Seconds after which the prompt cache of the provider has expired. Where usage tells that it was asked to keep prefixes for
    /// longer, so long.
    pub cold_after: u64,
    /// How many times what a fold costs carrying on must have cost.
    pub factor: f64,
    /// Tokens that are read again after a fold.
    pub again: u64,
    /// Price of what is read from the cache, as a multiple of that of plain input; unset: that of the model.
    pub read: Option<f64>,
    /// Price of what is written to the cache, as a multiple of that of plain input; unset: that of the model.
    pub write: Option<f64>,
}

impl Default for BreakEvenConfig {
    fn default() -> Self {
        let WindowFractionConfig { trigger, target, reserve_output, cold_after, .. } =
            WindowFractionConfig::default();
        Self {
            trigger,
            target,
            reserve_output,
            by_usage: false,
            window_at_most: None,
            cold_after,
            factor: 1.0,
            again: 0,
            read: None,
            write: None,
        }
    }
}

impl StageConfig<dyn OverflowPolicy> for BreakEvenConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        let numbers = [("factor", Some(self.factor)), ("read", self.read), ("write", self.write)];
        for (name, number) in numbers {
            if number.is_some_and(|number| !(0.0..=1e6).contains(&number)) {
                return Err(Invalid::new(name, "must be a number from 0 to 1,000,000"));
            }
        }
        let hard = WindowFractionConfig {
            trigger: self.trigger,
            target: self.target,
            reserve_output: self.reserve_output,
            by_usage: self.by_usage,
            window_at_most: self.window_at_most,
            ..WindowFractionConfig::default()
        };
        Ok(Arc::new(BreakEven { hard: hard.checked()?, config: self }))
    }
}

/// Folds once carrying on has cost what a fold costs.
#[derive(Clone, Debug)]
pub struct BreakEven {
    hard: WindowFraction,
    config: BreakEvenConfig,
}

impl BreakEven {
    /// The prices in force: those that are set, else those of the model.
    fn prices(&self, pressure: &Pressure<'_>) -> Option<CachePrices> {
        let read = self.config.read.or(pressure.prices.map(|prices| prices.read))?;
        let write = self.config.write.or(pressure.prices.map(|prices| prices.write))?;
        Some(CachePrices { read, write })
    }
}

impl OverflowPolicy for BreakEven {
    fn moments(&self) -> &'static [Moment] {
        self.hard.moments()
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        let mut decision = self.hard.decide(pressure);
        if decision.fold || pressure.moment.is_reactive() {
            return decision;
        }
        let Some(CachePrices { read, write }) = self.prices(pressure) else {
            return decision;
        };
        let last = pressure.fold_stats.last().map(|fold| fold.tokens_after);
        let target = || decision.target.unwrap_or(0).saturating_sub(pressure.frame_tokens);
        let left = last.unwrap_or_else(target);
        let carried = read * pressure.answered_views.beyond(left) as f64;
        let cold_after = self.config.cold_after.max(pressure.cached_for.unwrap_or(0));
        let cold = pressure.idle_ms.is_some_and(|idle| idle > cold_after.saturating_mul(1_000));
        let rewrite = if cold { 0.0 } else { (write - read).max(0.0) * left as f64 };
        let cost = self.config.factor * (rewrite + write * self.config.again as f64);
        // A fold that leaves what there is gains nothing.
        decision.fold = pressure.view_tokens > left && carried > 0.0 && carried >= cost;
        let sign = if carried >= cost { ">=" } else { "<" };
        decision.reason +=
            &format!("; carrying on has cost {carried:.0} {sign} {cost:.0} of a fold");
        decision
    }

    fn refuses(&self, limits: foldback_core::limits::Limits) -> Option<String> {
        self.hard.refuses(limits)
    }

    fn reads_prices(&self) -> bool {
        self.config.read.is_none() || self.config.write.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::fold_stats::FoldStats;
    use foldback_core::limits::Limits;

    fn config() -> BreakEvenConfig {
        BreakEvenConfig { target: 0.2, reserve_output: false, ..BreakEvenConfig::default() }
    }

    #[test]
    fn it_folds_once_carrying_on_has_cost_what_a_fold_costs() {
        let prices = Some(CachePrices { read: 0.1, write: 1.1 });
        let free = Some(CachePrices { read: 1.0, write: 1.0 });
        let again = BreakEvenConfig { again: 1_000, ..config() };
        let twice = BreakEvenConfig { factor: 2.0, ..config() };
        let own = BreakEvenConfig { read: Some(0.2), write: Some(1.1), ..config() };
        // In a window of 100,000 tokens a fold leaves 20,000, and has 20,000 written anew: at these prices that costs 20,000.
        let cases = [
            ("four answers", config(), prices, vec![70_000; 4], None, None, true),
            ("three", config(), prices, vec![70_000; 3], None, None, false),
            (
                "views of what it would leave cost nothing",
                config(),
                prices,
                vec![20_000; 99],
                None,
                None,
                false,
            ),
            ("read again, and less", again.clone(), prices, vec![70_000; 4], None, None, false),
            ("and enough", again, prices, vec![70_000; 5], None, None, true),
            ("twice", twice, prices, vec![70_000; 7], None, None, false),
            ("a cold cache", config(), prices, vec![70_000], Some(300_001), None, true),
            ("not yet cold", config(), prices, vec![70_000], Some(300_000), None, false),
            ("no cache", config(), free, vec![70_000], None, None, true),
            (
                "views that were smaller do not make up for it",
                config(),
                prices,
                [vec![0; 9], vec![70_000; 4]].concat(),
                None,
                None,
                true,
            ),
            (
                "what the last fold left",
                config(),
                prices,
                vec![70_000; 4],
                None,
                Some(60_000),
                false,
            ),
            ("own prices", own, None, vec![70_000; 2], None, None, true),
            ("no prices", config(), None, vec![70_000; 99], None, None, false),
        ];
        for (name, config, prices, views, idle_ms, left, fold) in cases {
            let last = left.map(|tokens_after| FoldStats { tokens_after, ..FoldStats::default() });
            let decision = config.build().unwrap().decide(&Pressure {
                view_tokens: 70_000,
                answered_views: &views.into_iter().collect(),
                prices,
                idle_ms,
                fold_stats: last.as_slice(),
                ..Pressure::at(Moment::CallStart, Limits::new(100_000, 0))
            });
            assert_eq!(decision.fold, fold, "{name}: {}", decision.reason);
        }
    }

    #[test]
    fn the_trigger_holds_beside_it() {
        let policy = config().build().unwrap();
        for (view_tokens, fold) in [(80_000, false), (80_001, true)] {
            let limits = Limits::new(100_000, 0);
            let pressure = Pressure { view_tokens, ..Pressure::at(Moment::CallStart, limits) };
            assert_eq!(policy.decide(&pressure).fold, fold, "{view_tokens}");
        }
        let refused = Pressure::at(Moment::ProviderOverflow, Limits::new(100_000, 0));
        assert!(policy.decide(&refused).fold);
    }

    #[test]
    fn what_it_needs_is_told() {
        let own = BreakEvenConfig { read: Some(0.1), write: Some(1.0), ..config() };
        for (config, reads) in [(config(), true), (own, false)] {
            assert_eq!(config.build().unwrap().reads_prices(), reads);
        }
        let wrong = BreakEvenConfig { factor: f64::NAN, ..config() };
        assert_eq!(wrong.build().unwrap_err().path, "factor");
    }
}
