//! Configuration of the filter, with the checks that the original's validator makes.

use crate::budget::Shares;
use crate::reference::Eviction;
use crate::score::Weights;
use crate::tiers::Edges;
use foldback_core::registry::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::num::NonZeroUsize;

/// What a message's age is measured from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgeFrom {
    /// The newest message, so that a recorded session scores as it did when it was recorded.
    #[default]
    Newest,
    /// The injected clock.
    Clock,
}

/// What belongs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Together {
    /// A call with its results: kept together, on one side of a tier's edge.
    #[default]
    Group,
    /// Nothing: every message goes its own way, and a call may lose its result.
    Message,
}

/// Configuration of `tiered.residual`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TieredConfig {
    /// Whether anything is folded at all. As in the original's environment, only `true` or the text "true" switches it on.
    #[serde(deserialize_with = "only_true")]
    pub tiered: bool,
    /// Whether important messages bypass the tiers. Only `true` or the text "true" switches it on.
    #[serde(deserialize_with = "only_true")]
    pub residuals: bool,
    /// Score from which on a message is a residual (0 to 100).
    pub residual_threshold: u32,
    /// Largest share of the messages that may be residuals (0 to 1), rounded up.
    pub residual_max_percent: f64,
    /// Points of each factor of the score.
    pub weights: Weights,
    /// What a message's age is measured from.
    pub age_from: AgeFrom,
    /// What belongs together.
    pub together: Together,
    /// How many of the newest messages are shown raw.
    pub tier0_size: usize,
    /// Distance from the newest message at which the lightly summarized ones end.
    pub tier1_size: usize,
    /// Distance from the newest message at which the moderately summarized ones end.
    pub tier2_size: usize,
    /// Percent of its tokens that a summary of tier 1, 2 and 3 may keep.
    pub preserve: [u32; 3],
    /// Words that sentence truncation keeps above all.
    pub keywords: Vec<String>,
    /// Whether a token budget bounds residuals, summaries and tier 0. Only `true` or the text "true" switches it on.
    #[serde(deserialize_with = "only_true")]
    pub budget: bool,
    /// Tokens of the whole prompt after a fold; 0 takes the policy's target, else `budget_fraction` of the window.
    pub budget_tokens: u64,
    /// Share of the window that the whole prompt may have after a fold without a target (0 to 1).
    pub budget_fraction: f64,
    /// How the budget is dealt out.
    pub shares: Shares,
    /// Tokens that a summary is allowed even where the budget leaves nothing; of a tier that would get less than this from its own size, all sentences stay where they fit its budget, else the most important ones, without asking a summarizer.
    pub min_summary_tokens: u64,
    /// Whether a tier 0 above its budget has its oldest tool results cut.
    pub cut_tool_results: bool,
    /// Tokens that a tool result is never cut below.
    pub min_result_tokens: u64,
    /// Percent of the view's tokens that an automatic fold must free (0 to 100); less is not worth a new prompt cache.
    pub min_gain_percent: u32,
    /// Summaries that are kept for the next fold of the same content.
    pub cache_entries: usize,
    /// Whether summaries name a context reference under which their originals are stored.
    pub references: bool,
    /// Contexts that are stored at most.
    pub reference_entries: usize,
    /// Which stored context makes room.
    pub reference_eviction: Eviction,
    /// The document to the letter: its slices, its arithmetic, its truncation, residuals in score order, those over the cap lost, nothing redistributed.
    pub doc_exact: bool,
}

impl Default for TieredConfig {
    fn default() -> Self {
        Self {
            tiered: true,
            residuals: true,
            residual_threshold: 60,
            residual_max_percent: 0.20,
            weights: Weights::default(),
            age_from: AgeFrom::default(),
            together: Together::default(),
            tier0_size: 10,
            tier1_size: 25,
            tier2_size: 50,
            preserve: [70, 40, 15],
            keywords: Vec::new(),
            budget: true,
            budget_tokens: 0,
            budget_fraction: 0.5,
            shares: Shares::default(),
            min_summary_tokens: 64,
            cut_tool_results: true,
            min_result_tokens: 200,
            min_gain_percent: 5,
            cache_entries: 1_000,
            references: false,
            reference_entries: 100,
            reference_eviction: Eviction::default(),
            doc_exact: false,
        }
    }
}

impl TieredConfig {
    /// The distances at which the tiers end.
    pub fn edges(&self) -> Edges {
        [self.tier0_size, self.tier1_size, self.tier2_size]
    }

    /// Checks every value.
    ///
    /// # Errors
    ///
    /// The first value that can't be used, by the name of its field.
    pub fn check(&self) -> Result<(), Invalid> {
        let share = |field: &str, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                let message = format!("is {value}; it takes a share from 0 to 1, e.g. 0.20");
                Err(Invalid::new(field, message))
            }
        };
        if self.residual_threshold > 100 {
            return Err(Invalid::new(
                "residual_threshold",
                format!("is {}; it takes 0 to 100", self.residual_threshold),
            ));
        }
        share("residual_max_percent", self.residual_max_percent)?;
        share("budget_fraction", self.budget_fraction)?;
        share("shares.residuals", self.shares.residuals)?;
        if self.min_gain_percent > 100 {
            let message = format!("is {}; it takes 0 to 100", self.min_gain_percent);
            return Err(Invalid::new("min_gain_percent", message));
        }
        if let Some(ratio) = self.preserve.iter().find(|ratio| **ratio > 100) {
            let message = format!("holds {ratio}; each is a percentage from 0 to 100");
            return Err(Invalid::new("preserve", message));
        }
        let dealt: u64 = self.shares.tiers.iter().map(|p| u64::from(*p)).sum();
        if dealt > 100 {
            let message = format!("add up to {dealt} percent; at most 100 can be allocated");
            return Err(Invalid::new("shares.tiers", message));
        }
        entries("cache_entries", self.cache_entries)?;
        entries("reference_entries", self.reference_entries)?;
        self.check_sizes()
    }

    /// Tier sizes must grow. Of two that do not, the one that is not at its default is to blame.
    fn check_sizes(&self) -> Result<(), Invalid> {
        let names = ["tier0_size", "tier1_size", "tier2_size"];
        let (sizes, defaults) = (self.edges(), Self::default().edges());
        for outer in 1..sizes.len() {
            let inner = outer - 1;
            if sizes[inner] < sizes[outer] {
                continue;
            }
            let blamed = if sizes[outer] == defaults[outer] { inner } else { outer };
            let message = format!(
                "is {}, but `{}` ({}) must be below `{}` ({}): the sizes are distances from the newest \
                 message, e.g. 10, 25, 50",
                sizes[blamed], names[inner], sizes[inner], names[outer], sizes[outer]
            );
            return Err(Invalid::new(names[blamed], message));
        }
        Ok(())
    }
}

pub(crate) fn entries(field: &str, count: usize) -> Result<NonZeroUsize, Invalid> {
    NonZeroUsize::new(count)
        .ok_or_else(|| Invalid::new(field, "is 0; it must hold at least one entry"))
}

/// The original's flags come from the environment, where only the text `true` counts.
fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(flag) => flag,
        Value::String(text) => text == "true",
        _ => false,
    })
}
