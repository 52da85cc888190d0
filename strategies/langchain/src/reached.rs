//! `langchain.reached`: the trigger of LangChain's `SummarizationMiddleware`.
//!
//! It folds where the messages come to a number of tokens or to a share of what the model takes, or where the last answer's usage did.
//! The frame counts only in usage.

use foldback_core::fraction::Fraction;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use foldback_stages::policy::Comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`Reached`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReachedConfig {
    /// Tokens from which it folds; 0: none.
    pub tokens: u64,
    /// Share of the largest request that the model takes from which it folds; 0: none.
    pub fraction: f64,
    /// Tokens from which it folds where it is not known what the model takes; 0: `tokens` alone.
    pub unknown_tokens: u64,
    /// Whether the system prompt and the tools count with the messages.
    pub frame: bool,
    /// Whether the usage of the last answer counts, too.
    pub usage: bool,
}

impl Default for ReachedConfig {
    fn default() -> Self {
        Self { tokens: 0, fraction: 0.8, unknown_tokens: 0, frame: false, usage: true }
    }
}

impl StageConfig<dyn OverflowPolicy> for ReachedConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        if !(0.0..=1.0).contains(&self.fraction) {
            return Err(Invalid::new("fraction", "must be from 0 to 1"));
        }
        if self.tokens == 0 && self.fraction == 0.0 {
            return Err(Invalid::new(
                "tokens",
                "or `fraction` must be above 0: nothing would ever fold",
            ));
        }
        Ok(Arc::new(Reached { fraction: Fraction::of(self.fraction), config: self }))
    }
}

/// Folds where a size is reached.
#[derive(Clone, Debug)]
pub struct Reached {
    fraction: Fraction,
    config: ReachedConfig,
}

impl Reached {
    /// The smallest of the sizes that are set.
    fn trigger(&self, pressure: &Pressure<'_>) -> Option<u64> {
        let of_window = |ceiling: u64| self.fraction.floor_of(ceiling).max(1);
        let ceiling = pressure.limits.request_ceiling();
        let share = ceiling.filter(|_| self.config.fraction > 0.0).map(of_window);
        let unknown = ceiling.is_none().then_some(self.config.unknown_tokens);
        let tokens =
            [Some(self.config.tokens), unknown].into_iter().flatten().filter(|set| *set > 0);
        tokens.chain(share).min()
    }
}

impl OverflowPolicy for Reached {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        let Some(trigger) = self.trigger(pressure) else {
            return Decision::off("the window is not known");
        };
        let usage = pressure.usage.filter(|_| self.config.usage);
        let reported = usage.map_or(0, |reading| reading.usage.total_tokens());
        let frame = if self.config.frame { pressure.frame_tokens } else { 0 };
        let count = (pressure.view_tokens + frame).max(reported);
        // A provider that refused a request knows better.
        let refused = pressure.moment == Moment::ProviderOverflow;
        let reached = Comparison::AtLeast.holds(count, trigger);
        let fold = reached || refused;
        let compared = Comparison::AtLeast.sign(reached);
        Decision {
            fold,
            count,
            trigger,
            target: None,
            floor: None,
            reason: format!("{count} {compared} {trigger}"),
        }
    }
}
