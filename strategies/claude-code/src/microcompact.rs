//! `claude-code.microcompact`: from a limit on, clears the oldest tool results beyond a protected amount.

use foldback_core::meter::MeteredResult;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{OverflowPolicy, Pruner, Pruning, StageContext};
use foldback_stages::policy::{AnswerUsageConfig, Comparison, EstimateUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What replaces a cleared result.
const PLACEHOLDER: &str = "[Old tool result content cleared]";

/// Configuration of [`Microcompact`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MicrocompactConfig {
    /// Tokens of the window that are free where it begins: the limit of the policy and as much again.
    pub reserve: u64,
    /// Tokens of tool results, counted from the newest, that stay.
    pub protect_tokens: u64,
    /// Tokens that the older results must come to for anything to be cleared.
    pub minimum_tokens: u64,
    /// Newest results that stay whatever their size.
    pub keep: usize,
    /// Tools whose results are counted and cleared.
    pub tools: Vec<String>,
}

impl StageConfig<dyn Pruner> for MicrocompactConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        let limit = AnswerUsageConfig {
            reserve: self.reserve,
            comparison: Comparison::AtLeast,
            estimate: EstimateUse::Never,
            ..AnswerUsageConfig::default()
        };
        let placeholder = PLACEHOLDER.into();
        Ok(Arc::new(Microcompact { limit: limit.build()?, placeholder, config: self }))
    }
}

/// Clears old tool results before the window is full.
#[derive(Clone, Debug)]
pub struct Microcompact {
    config: MicrocompactConfig,
    limit: Arc<dyn OverflowPolicy>,
    placeholder: Arc<str>,
}

impl Pruner for Microcompact {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let MicrocompactConfig { protect_tokens, minimum_tokens, keep, .. } = self.config;
        if context.limits.context <= self.config.reserve {
            let why = format!("{} <= {}", context.limits.context, self.config.reserve);
            return Pruning::Nothing(Why::new("window-too-small", why));
        }
        let decision = self.limit.decide(&context.pressure());
        if !decision.fold {
            return Pruning::Nothing(Why::new("below-threshold", decision.reason));
        }
        let tools = context.meter.tools().iter();
        let counted: Vec<bool> = tools.map(|tool| self.config.tools.contains(tool)).collect();
        let view = context.view;
        let results = context.meter.standing().filter(|result| {
            counted.get(result.tool as usize).is_some_and(|counted| *counted)
                && view.is_visible(result.at.item)
        });
        let results: Vec<&MeteredResult> = results.collect();
        let total: u64 = results.iter().map(|result| result.tokens).sum();
        let (mut old, mut going) = (0, Vec::new());
        for result in &results[..results.len().saturating_sub(keep)] {
            if total - old <= protect_tokens {
                break;
            }
            old += result.tokens;
            going.push(result.at);
        }
        if old < minimum_tokens {
            let why = format!("{old} of {total} tokens could be cleared, {minimum_tokens} needed");
            return Pruning::Nothing(Why::new("below-minimum", why));
        }
        let reason = "older than the protected tool results";
        Pruning::Edits {
            edits: context.clear(going, &self.placeholder, reason),
            prunable: old,
            reason: format!(
                "{}: {old} of {total} tokens of tool results lie beyond the newest {protect_tokens}",
                decision.reason
            ),
        }
    }
}
