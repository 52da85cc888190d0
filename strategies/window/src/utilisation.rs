//! `window.utilisation`: folds when the request would take more than a share of the window.
//!
//! The specification has two shares, one before a call and a higher one for a model that stopped for
//! length. The code of the original defines the second and never asks for it: after a length stop it
//! asks for the first again.

use crate::budget::{TokenBudget, context_limit};
use foldback_core::config::Share;
use foldback_core::fraction::Fraction;
use foldback_core::limits::Limits;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The question after the model stopped for length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LengthStop {
    /// Whether more than `critical` is used.
    #[default]
    Critical,
    /// Whether more than `threshold` is used, as before a call.
    Threshold,
}

/// Configuration of [`Utilisation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UtilisationConfig {
    /// Share of the window above which it folds (above 0, at most 1).
    pub threshold: Share,
    /// Share of the window above which it folds after a length stop (`threshold` to 1).
    pub critical: Share,
    /// Which of the two is asked for after a length stop.
    pub on_length_stop: LengthStop,
    /// Tokens kept free for the answer, whatever the model's output limit; 0: the model's output limit.
    pub max_output: u64,
    /// Beta headers of the requests; `context-1m-2025-08-07` makes the window of a Sonnet model 1,000,000, whatever else sets it.
    pub betas: Vec<String>,
}

impl StageConfig<dyn OverflowPolicy> for UtilisationConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        Ok(Arc::new(Utilisation::new(self)?))
    }
}

/// Folds when the request would take more than a share of the window.
#[derive(Clone, Debug)]
pub struct Utilisation {
    threshold: Fraction,
    critical: Fraction,
    on_length_stop: LengthStop,
    max_output: u64,
    betas: Vec<String>,
}

impl Utilisation {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// A `critical` below `threshold`.
    pub fn new(config: UtilisationConfig) -> Result<Self, Invalid> {
        let UtilisationConfig { threshold, critical, on_length_stop, max_output, betas } = config;
        if critical < threshold {
            return Err(Invalid::new(
                "critical",
                format!(
                    "is {}, below `threshold` ({}): a length stop would fold earlier than a call",
                    critical.number(),
                    threshold.number()
                ),
            ));
        }
        Ok(Self { threshold: *threshold, critical: *critical, on_length_stop, max_output, betas })
    }

    /// Whether it is time to fold before a call.
    pub fn should_compact(&self, budget: &TokenBudget) -> bool {
        budget.exceeds(self.threshold)
    }

    /// Whether a fold can't wait.
    pub fn must_compact(&self, budget: &TokenBudget) -> bool {
        budget.exceeds(self.critical)
    }

    fn reserve(&self, limits: Limits) -> u64 {
        match self.max_output {
            0 => limits.output,
            reserve => reserve,
        }
    }
}

impl OverflowPolicy for Utilisation {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart, Moment::LengthStop]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        let limits = pressure.limits;
        let set = (limits.context > 0).then_some(limits.context);
        let budget = TokenBudget {
            limit: context_limit(pressure.model, &self.betas, set),
            system: pressure.frame_tokens,
            messages: pressure.view_tokens,
            max_output: self.reserve(limits),
        };
        let critical =
            pressure.moment == Moment::LengthStop && self.on_length_stop == LengthStop::Critical;
        let (fold, share) = if critical {
            (self.must_compact(&budget), self.critical)
        } else {
            (self.should_compact(&budget), self.threshold)
        };
        let (count, trigger) = (budget.used(), share.floor_of(budget.limit));
        // What the messages may take without the next call asking for a fold again.
        let around = budget.system + budget.max_output;
        let target = self.threshold.floor_of(budget.limit).saturating_sub(around);
        Decision {
            fold,
            count,
            trigger,
            target: Some(target),
            floor: None,
            reason: format!(
                "{count} {} {trigger} (frame {} + view {} + output {}; {} of {})",
                if fold { ">" } else { "<=" },
                budget.system,
                budget.messages,
                budget.max_output,
                share.number(),
                budget.limit,
            ),
        }
    }

    fn refuses(&self, limits: Limits) -> Option<String> {
        let reserve = self.reserve(limits);
        let trigger = self.threshold.floor_of(limits.context);
        let (whose, lower) = match self.max_output {
            0 => ("the model's output limit", "that limit"),
            _ => (
                "`max_output` of [overflow], whatever the model's output limit is",
                "`max_output` of [overflow]",
            ),
        };
        (reserve >= trigger).then(|| {
            format!(
                "a window of {} tokens leaves no room: {reserve} are kept free for the answer ({whose}), \
                 and it folds above {trigger} ({} of the window); raise the window or lower {lower}",
                limits.context,
                self.threshold.number(),
            )
        })
    }
}
