//! `opencode.overflow`: has the last answer filled the usable window?
//!
//! OpenCode looks at the usage that came with an answer, never at an estimate. It looks twice: when a
//! step of the loop has finished, and before a request goes out, in case the history was stored by an
//! earlier run. From 1.2.15 on a request that the provider refused for its length folds as well, and
//! since 1.16 `auto = false` holds for that too. Version 2 looks before every request alone and adds an estimate of what no
//! usage covers.

use crate::window::{OUTPUT_TOKEN_MAX, WindowRule};
use foldback_core::Limits;
use foldback_core::log::Usage;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use foldback_stages::policy::{Comparison, TokenClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`Overflow`]. The default is January 2026.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OverflowConfig {
    /// Whether to fold at all; off means off at every moment.
    pub auto: bool,
    /// How the count is compared with the usable window.
    pub comparison: Comparison,
    /// Whether the provider's own total counts where it gave one, instead of `counts`.
    pub provider_total: bool,
    /// Which classes of usage make up the count.
    pub counts: Vec<TokenClass>,
    /// Cap of the model's output limit, and its value where none is known.
    pub output_token_max: u64,
    /// Whether a reserve is subtracted from the input limit of models that have one.
    pub input_headroom: bool,
    /// That reserve in tokens; unset: 20,000, or the output limit where that is smaller.
    pub reserved: Option<u64>,
    /// Tokens that are kept free in any case: below the input limit, and below the window where the output limit is smaller.
    /// Takes the place of `input_headroom` and `reserved` (version 2).
    pub buffer: Option<u64>,
    /// Whether what no usage covers is estimated: what came after the answer, and the whole request where no input was
    /// reported yet (version 2).
    pub estimates: bool,
    /// Whether a request that the provider refused for its length folds too.
    pub provider_overflow: bool,
}

impl Default for OverflowConfig {
    fn default() -> Self {
        Self {
            auto: true,
            comparison: Comparison::Above,
            provider_total: false,
            // The log keeps reasoning apart from output; January's own output contained it.
            counts: vec![
                TokenClass::Input,
                TokenClass::CacheRead,
                TokenClass::Output,
                TokenClass::Reasoning,
            ],
            output_token_max: OUTPUT_TOKEN_MAX,
            input_headroom: false,
            reserved: None,
            buffer: None,
            estimates: false,
            provider_overflow: false,
        }
    }
}

impl StageConfig<dyn OverflowPolicy> for OverflowConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        Ok(Arc::new(self.checked()?))
    }
}

impl OverflowConfig {
    /// Checks the values and makes the policy.
    pub fn checked(self) -> Result<Overflow, Invalid> {
        if self.output_token_max == 0 {
            return Err(Invalid::new(
                "output_token_max",
                "must be at least 1: it is the output limit of models without one",
            ));
        }
        if self.counts.is_empty() {
            return Err(Invalid::new(
                "counts",
                "names no class of tokens, so nothing would ever be counted; name at least `input`",
            ));
        }
        if self.reserved.is_some() && !self.input_headroom {
            return Err(Invalid::new("reserved", "has no effect without `input_headroom = true`"));
        }
        if self.buffer.is_some() && self.input_headroom {
            return Err(Invalid::new("buffer", "takes the place of `input_headroom`; set one"));
        }
        Ok(Overflow(self))
    }
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Overflow(OverflowConfig);

impl Overflow {
    fn window(&self) -> WindowRule {
        WindowRule {
            output_token_max: self.0.output_token_max,
            input_headroom: self.0.input_headroom,
            reserved: self.0.reserved,
            buffer: self.0.buffer,
        }
    }

    /// The tokens that count.
    pub fn count(&self, usage: &Usage) -> u64 {
        TokenClass::sum(&self.0.counts, usage, self.0.provider_total)
    }

    /// The last usage that tells of input and what came since; without one the whole request.
    fn with_estimates(&self, pressure: &Pressure<'_>) -> u64 {
        let usage = pressure.usage.map(|reading| reading.usage);
        match usage.filter(|usage| usage.input_total() > 0) {
            Some(usage) => self.count(&usage).saturating_add(pressure.since_answer),
            None => pressure.frame_tokens.saturating_add(pressure.view_tokens),
        }
    }

    fn on_count(&self, count: u64, limits: Limits) -> Decision {
        if !self.0.auto {
            return Decision::off("automatic compaction is off");
        }
        if limits.context == 0 {
            return Decision::off("the model's window is not known");
        }
        let usable = self.window().usable(limits);
        let fold = self.0.comparison.holds(i128::from(count), i128::from(usable));
        Decision {
            fold,
            count,
            trigger: u64::try_from(usable).unwrap_or(0),
            target: None,
            floor: None,
            reason: format!(
                "{count} {} {usable} ({})",
                self.0.comparison.sign(fold),
                self.window().describe(limits)
            ),
        }
    }
}

impl OverflowPolicy for Overflow {
    fn moments(&self) -> &'static [Moment] {
        if self.0.provider_overflow {
            &[Moment::CallStart, Moment::StepEnd, Moment::ProviderOverflow]
        } else {
            &[Moment::CallStart, Moment::StepEnd]
        }
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        if !self.0.auto {
            return Decision::off("automatic compaction is off");
        }
        if pressure.moment == Moment::ProviderOverflow {
            return Decision {
                fold: true,
                ..Decision::off("the provider refused the request for its length")
            };
        }
        let count = match self.0.estimates {
            true => Some(self.with_estimates(pressure)),
            false => pressure.usage.map(|reading| self.count(&reading.usage)),
        };
        match count {
            Some(count) => self.on_count(count, pressure.limits),
            None => Decision::off("no usage of a last answer is known"),
        }
    }

    fn refuses(&self, limits: Limits) -> Option<String> {
        let usable = self.window().usable(limits);
        (self.0.auto && limits.context > 0 && usable <= 0).then(|| {
            format!(
                "leaves a usable window of {usable} tokens ({}), so every answer would overflow; \
                 set a larger window or a smaller output limit",
                self.window().describe(limits)
            )
        })
    }
}
