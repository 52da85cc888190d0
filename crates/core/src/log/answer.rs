//! What the provider said about one model call: usage, why it stopped, which model.

use serde::{Deserialize, Serialize};

/// Token counts of one call as three disjoint input classes and the output.
///
/// Providers disagree on whether `input` includes what was read from the cache (OpenAI, Gemini) or
/// not (Anthropic, OpenCode). Importers normalize to disjoint classes, so that
/// [`Usage::input_total`] is the size of the request in every format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the prompt cache.
    pub uncached: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write: u64,
    /// Those of `cache_write` that the cache keeps for an hour; only Anthropic tells them apart.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
    /// Generated tokens without the reasoning tokens, where the recorder separates them.
    pub output: u64,
    /// Reasoning tokens that the recorder lists apart from `output`.
    pub reasoning: u64,
    /// The provider's own total, where it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

impl Usage {
    /// The size of the request: all three input classes together.
    pub fn input_total(&self) -> u64 {
        self.uncached.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Whether the request was counted. No request is empty: where the input classes are all 0, nothing was told of it, even
    /// if the output was counted. Whoever needs its size or its price then estimates it.
    pub fn has_input(&self) -> bool {
        self.input_total() > 0
    }

    /// Seconds that the provider was asked to keep most of what was written to its cache; `None` if nothing was.
    pub fn cached_for(&self) -> Option<u64> {
        let for_an_hour = self.cache_write_1h.saturating_mul(2) > self.cache_write;
        (self.cache_write > 0).then_some(if for_an_hour { 3_600 } else { 300 })
    }

    /// Everything that was generated.
    #[doc(hidden)]
    pub fn output_total(&self) -> u64 {
        self.output.saturating_add(self.reasoning)
    }

    /// The size of request and answer together.
    pub fn total_tokens(&self) -> u64 {
        self.input_total().saturating_add(self.output_total())
    }

    /// The counts of two calls together; their totals where both are known.
    #[must_use]
    #[doc(hidden)]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            uncached: self.uncached.saturating_add(other.uncached),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            total: self.total.zip(other.total).map(|(a, b)| a.saturating_add(b)),
        }
    }

    /// What was used since a running total stood at `before`: all of it, where the total began anew.
    #[must_use]
    #[doc(hidden)]
    pub fn since(&self, before: &Self) -> Self {
        let less = |of: fn(&Self) -> u64| of(self).checked_sub(of(before));
        let since = || {
            Some(Self {
                uncached: less(|usage| usage.uncached)?,
                cache_read: less(|usage| usage.cache_read)?,
                cache_write: less(|usage| usage.cache_write)?,
                cache_write_1h: less(|usage| usage.cache_write_1h)?,
                output: less(|usage| usage.output)?,
                reasoning: less(|usage| usage.reasoning)?,
                total: self
                    .total
                    .zip(before.total)
                    .and_then(|(now, before)| now.checked_sub(before)),
            })
        };
        since().unwrap_or(*self)
    }

    /// Whether nothing was recorded at all (some recorders write zeros for aborted calls).
    #[doc(hidden)]
    pub fn is_zero(&self) -> bool {
        !self.has_input() && self.output_total() == 0
    }
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[doc(hidden)]
pub struct Price {
    /// Input that is neither read from nor written to a cache.
    pub input: f64,
    /// Input read from the prompt cache.
    pub cache_read: f64,
    /// Input written to the prompt cache.
    pub cache_write: f64,
    /// Output, reasoning included.
    pub output: f64,
}

impl Price {
    /// What a request cost, in US dollars.
    #[doc(hidden)]
    pub fn dollars(&self, usage: &Usage) -> f64 {
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        dollars(usage.uncached, self.input)
            + dollars(usage.cache_read, self.cache_read)
            + dollars(usage.cache_write, self.cache_write)
            + dollars(usage.output_total(), self.output)
    }

    /// The most that a request can cost: nothing of it is cached, or all of it is written to the cache
    /// if that costs more, and the answer is as long as it may be.
    #[doc(hidden)]
    pub fn at_most(&self, input: u64, output: u64) -> f64 {
        (input as f64 * self.input.max(self.cache_write) + output as f64 * self.output) / 1e6
    }
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// The model ended its answer.
    Stop,
    /// The model asked for tools to be run.
    ToolCalls,
    /// The output limit or the window was reached.
    Length,
    /// The provider filtered the content.
    ContentFilter,
    /// The call ended with an error or was aborted.
    Error,
    /// A reason that was recorded but has no counterpart here.
    Other,
}

/// How a request was served, where providers charge for it: each way has prices of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// As usual.
    #[default]
    Standard,
    /// Faster, as Anthropic's `speed: fast` and OpenAI's tier `fast`.
    Fast,
    /// Before others, as OpenAI's tier `priority`. Anthropic's tier of that name has no prices of its own.
    Priority,
    /// After others, as OpenAI's tier `flex`.
    Flex,
    /// In a batch.
    Batch,
}

impl Service {
    /// Whether it need not be written.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_standard(&self) -> bool {
        *self == Self::Standard
    }
}

/// Whether a count need not be written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A request that the provider made by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// The model of this round; `None` if the answer names the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it used.
    pub usage: Usage,
}

/// One model call, attached to the assistant message that answers it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Recorded usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What compactions of the provider's own used during the call. They are billed apart and are not in `usage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Usage>,
    /// Requests that the provider made by itself for this answer and bills with it: those before the last, around its own
    /// tools, and those to an advisor. `usage` is of the last; its output is that of all rounds of the answer's model. A session
    /// that was read has them beside its log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// Searches of the web that the provider made for the answer and bills apart, where recorded.
    #[serde(skip_serializing_if = "is_zero")]
    pub web_searches: u64,
    /// How the request was served, where recorded.
    #[serde(skip_serializing_if = "Service::is_standard")]
    pub service: Service,
    /// Why the model stopped, where recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// Model id as recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Provider id as recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// When the request was sent, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<i64>,
    /// When the answer was complete, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<i64>,
    /// Name of the error that ended the call, as recorded (`MessageAbortedError`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
