//! From what a provider's SDK reports to OpenCode's token counts, as of January 2026.
//!
//! Providers disagree on whether the input they report holds what was read from the cache. OpenCode
//! told them apart by the metadata that came along: Anthropic and Bedrock leave it out, everybody else
//! has it in. An agent that reports usage to a conversation needs the result in the log's disjoint
//! classes, which [`Tokens::to_usage`] gives.

use foldback_core::log::{Price, Usage};
use serde_json::Value;

/// Token counts in the shape that OpenCode stored them. In January `output` still contained
/// `reasoning`; later versions keep the two apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input that was neither read from nor written to the cache.
    pub input: u64,
    /// Generated tokens.
    pub output: u64,
    /// Reasoning tokens among them.
    pub reasoning: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// The provider's own total, in versions that kept it.
    pub total: Option<u64>,
}

/// What the SDK reports; every count may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Input tokens.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Reasoning tokens.
    pub reasoning: Option<u64>,
    /// Input tokens that were read from the cache.
    pub cached_input: Option<u64>,
}

impl Tokens {
    /// The counts of an answer from what the SDK reported and the provider's metadata.
    pub fn from_reported(reported: Reported, metadata: &Value) -> Self {
        let cached = reported.cached_input.unwrap_or(0);
        let input = reported.input.unwrap_or(0);
        let leaves_cache_out =
            metadata.get("anthropic").is_some() || metadata.get("bedrock").is_some();
        let written =
            ["/anthropic/cacheCreationInputTokens", "/bedrock/usage/cacheWriteInputTokens"]
                .iter()
                .find_map(|pointer| metadata.pointer(pointer)?.as_u64());
        Self {
            input: if leaves_cache_out { input } else { input.saturating_sub(cached) },
            output: reported.output.unwrap_or(0),
            reasoning: reported.reasoning.unwrap_or(0),
            cache_read: cached,
            cache_write: written.unwrap_or(0),
            total: None,
        }
    }

    /// What the answer cost in dollars. January charged reasoning at the price of output on top of the
    /// output that contained it.
    pub fn cost(&self, price: Price) -> f64 {
        const MILLION: f64 = 1_000_000.0;
        [
            (self.input, price.input),
            (self.output + self.reasoning, price.output),
            (self.cache_read, price.cache_read),
            (self.cache_write, price.cache_write),
        ]
        .into_iter()
        .map(|(tokens, price)| tokens as f64 * price / MILLION)
        .sum()
    }

    /// The log's disjoint classes, with the reasoning taken out of January's `output`.
    pub fn to_usage(&self) -> Usage {
        Usage {
            uncached: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            output: self.output.saturating_sub(self.reasoning),
            reasoning: self.reasoning,
            total: self.total,
            ..Usage::default()
        }
    }
}
