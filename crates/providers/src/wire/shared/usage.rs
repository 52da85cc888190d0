//! What recorders say about a call: token counts, each in its own words, and why the model stopped.

use super::value;
use foldback_core::log::{Finish, Usage};
use serde_json::Value;

/// Where a recorder writes its counts: JSON pointers, of which the first that leads to a count is taken.
#[derive(Clone, Copy)]
pub struct Counts {
    pub input: &'static [&'static str],
    pub cache_read: &'static [&'static str],
    pub cache_write: &'static [&'static str],
    /// What of `cache_write` is kept for an hour.
    pub cache_write_1h: &'static [&'static str],
    pub output: &'static [&'static str],
    pub reasoning: &'static [&'static str],
    pub total: &'static str,
    /// Input that is counted apart.
    pub apart: &'static str,
    /// Whether the input holds what the cache did.
    pub cache_in_input: bool,
    /// Whether the output holds the reasoning.
    pub reasoning_in_output: bool,
}

impl Counts {
    /// None of them; the input holds the cache, the output the reasoning.
    pub const NONE: Self = Self {
        input: &[],
        cache_read: &[],
        cache_write: &[],
        cache_write_1h: &[],
        output: &[],
        reasoning: &[],
        total: "/",
        apart: "/",
        cache_in_input: true,
        reasoning_in_output: true,
    };

    /// The counts of `raw` as disjoint classes.
    pub fn usage(&self, raw: &Value) -> Usage {
        let cache_read = value::first_count(raw, self.cache_read);
        let cache_write = value::first_count(raw, self.cache_write);
        let reasoning = value::first_count(raw, self.reasoning);
        let in_input = if self.cache_in_input { cache_read + cache_write } else { 0 };
        let in_output = if self.reasoning_in_output { reasoning } else { 0 };
        Usage {
            uncached: value::first_count(raw, self.input).saturating_sub(in_input)
                + value::count(raw, self.apart),
            cache_read,
            cache_write,
            cache_write_1h: value::first_count(raw, self.cache_write_1h).min(cache_write),
            output: value::first_count(raw, self.output).saturating_sub(in_output),
            reasoning,
            total: raw.pointer(self.total).and_then(value::tokens),
        }
    }

    /// [`Self::usage`] of an object.
    pub fn of_object(&self, raw: &Value) -> Option<Usage> {
        raw.is_object().then(|| self.usage(raw))
    }

    /// [`Self::usage`] where the input was counted.
    pub fn of_request(&self, raw: &Value) -> Option<Usage> {
        let mut counts = self.input.iter().filter_map(|at| raw.pointer(at));
        counts.any(Value::is_number).then(|| self.usage(raw))
    }

    /// [`Self::usage`] where anything was counted.
    pub fn any(&self, raw: &Value) -> Option<Usage> {
        Some(self.usage(raw)).filter(|usage| !usage.is_zero())
    }
}

/// The words for why a model stopped. No two providers or recorders mean different things by one.
const FINISHES: &[(Finish, &[&str])] = &[
    (
        Finish::Stop,
        &["stop", "end_turn", "stop_sequence", "STOP", "STOP_SEQUENCE", "COMPLETE", "completed"],
    ),
    (
        Finish::ToolCalls,
        &["tool_calls", "tool_call", "tool_use", "toolUse", "tool-calls", "function_call"],
    ),
    (
        Finish::Length,
        &[
            "length",
            "max_tokens",
            "MAX_TOKENS",
            "model_length",
            "model_context_window_exceeded",
            "incomplete",
        ],
    ),
    (
        Finish::ContentFilter,
        &[
            "content_filter",
            "content-filter",
            "refusal",
            "SAFETY",
            "RECITATION",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "LANGUAGE",
            "ERROR_TOXIC",
        ],
    ),
    (Finish::Error, &["error", "aborted"]),
];

/// Why a model stopped, in any recorder's words.
pub fn finish(word: &str) -> Finish {
    let known = FINISHES.iter().find(|(_, words)| words.contains(&word));
    known.map_or(Finish::Other, |(finish, _)| *finish)
}
