//! What recorders say about a call: token counts, each in its own words, and why the model stopped.

use super::value;
use foldback_core::log::{Finish, Service, Usage};
use serde_json::Value;

/// Where a recorder writes its counts: JSON pointers, of which the first that leads to a count is taken.
#[derive(Clone, Copy)]
pub struct Counts {
    pub input: &'static [&'static str],
    pub cache_read: &'static [&'static str],
    pub cache_write: &'static [&'static str],
    /// Tokens of `cache_write` that are kept for five minutes, for recorders that count by lifetime alone.
    pub cache_write_5m: &'static [&'static str],
    /// Tokens of `cache_write` that are kept for an hour.
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
        cache_write_5m: &[],
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
        self.reading(raw).0
    }

    /// [`Self::usage`], if anything was counted. Where that is the output alone, the request was not
    /// ([`Usage::has_input`]).
    pub fn any(&self, raw: &Value) -> Option<Usage> {
        Some(self.usage(raw)).filter(|usage| !usage.is_zero())
    }

    /// The counts, and whether they are as this format has them. Recorders pass on what providers count in other ways: a total
    /// says which it was, and an input that is smaller than what the cache did does not hold it.
    pub fn reading(&self, raw: &Value) -> (Usage, bool) {
        let declared = (self.cache_in_input, self.reasoning_in_output);
        let Some(of_format) = self.read_as(raw, declared) else {
            let apart = self.read_as(raw, (false, declared.1)).unwrap_or_default();
            return (apart, false);
        };
        let fits = |usage: &Usage| usage.total == Some(usage.total_tokens());
        if of_format.total.is_none_or(|total| total == 0) || fits(&of_format) {
            return (of_format, true);
        }
        let (cache, reasoning) = declared;
        let others = [(cache, !reasoning), (!cache, reasoning), (!cache, !reasoning)];
        let other = others.into_iter().filter_map(|way| self.read_as(raw, way)).find(fits);
        other.map_or((of_format, true), |usage| (usage, false))
    }

    /// The counts where the input holds the cache or not, the output the reasoning or not; `None` if an input is to hold more than
    /// it is.
    fn read_as(
        &self,
        raw: &Value,
        (cache_in_input, reasoning_in_output): (bool, bool),
    ) -> Option<Usage> {
        let cache_read = value::first_count(raw, self.cache_read);
        let cache_write_1h = value::first_count(raw, self.cache_write_1h);
        // Some count what was written by lifetime alone.
        let cache_write = match value::first_count(raw, self.cache_write) {
            0 => value::first_count(raw, self.cache_write_5m) + cache_write_1h,
            written => written,
        };
        let reasoning = value::first_count(raw, self.reasoning);
        let in_input = if cache_in_input { cache_read + cache_write } else { 0 };
        let in_output = if reasoning_in_output { reasoning } else { 0 };
        let input = value::first_count(raw, self.input).checked_sub(in_input)?;
        Some(Usage {
            uncached: input + value::count(raw, self.apart),
            cache_read,
            cache_write,
            cache_write_1h: cache_write_1h.min(cache_write),
            output: value::first_count(raw, self.output).saturating_sub(in_output),
            reasoning,
            total: raw.pointer(self.total).and_then(value::tokens),
        })
    }
}

/// How a request was served, in a provider's or a recorder's word.
pub fn service(word: Option<&str>) -> Service {
    match word {
        Some("fast") => Service::Fast,
        Some("priority") => Service::Priority,
        Some("flex") => Service::Flex,
        Some("batch") => Service::Batch,
        _ => Service::Standard,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Uncached input, read from the cache, written to it, of that for an hour, output, reasoning; and whether that is as the format
    /// has it.
    type Expected = ([u64; 6], bool);

    #[test]
    fn of_two_statements_the_one_that_fits_is_taken() {
        const HOLDS: Counts = Counts {
            input: &["/in"],
            cache_read: &["/read"],
            cache_write: &["/write"],
            cache_write_5m: &["/write5m"],
            cache_write_1h: &["/write1h"],
            output: &["/out"],
            reasoning: &["/thought"],
            total: "/total",
            ..Counts::NONE
        };
        const APART: Counts = Counts { cache_in_input: false, reasoning_in_output: false, ..HOLDS };
        let used = json!({"in": 100, "read": 60, "write": 10, "out": 20, "thought": 5});
        let told = |total: u64| {
            let mut used = used.clone();
            used["total"] = total.into();
            used
        };
        let rows: &[(&str, Counts, Value, Expected)] = &[
            ("the format's way", HOLDS, used.clone(), ([30, 60, 10, 0, 15, 5], true)),
            ("its total fits", HOLDS, told(120), ([30, 60, 10, 0, 15, 5], true)),
            ("reasoning apart", HOLDS, told(125), ([30, 60, 10, 0, 20, 5], false)),
            ("the cache apart", HOLDS, told(190), ([100, 60, 10, 0, 15, 5], false)),
            ("both apart", HOLDS, told(195), ([100, 60, 10, 0, 20, 5], false)),
            ("none fits", HOLDS, told(7), ([30, 60, 10, 0, 15, 5], true)),
            ("no total", HOLDS, told(0), ([30, 60, 10, 0, 15, 5], true)),
            ("apart, as the format has it", APART, told(195), ([100, 60, 10, 0, 20, 5], true)),
            ("held, by the total", APART, told(120), ([30, 60, 10, 0, 15, 5], false)),
            (
                "too small to hold it",
                HOLDS,
                json!({"in": 5, "read": 60}),
                ([5, 60, 0, 0, 0, 0], false),
            ),
            (
                "written by lifetime",
                HOLDS,
                json!({"in": 100, "write": 0, "write5m": 10, "write1h": 30}),
                ([60, 0, 40, 30, 0, 0], true),
            ),
            (
                "as text",
                HOLDS,
                json!({"in": "100", "read": "60", "write": null, "out": " 7 ", "total": "107"}),
                ([40, 60, 0, 0, 7, 0], true),
            ),
            ("no counts", HOLDS, json!({"in": "many", "out": [1]}), ([0; 6], true)),
        ];
        for (name, counts, raw, expected) in rows {
            let (usage, as_declared) = counts.reading(raw);
            let Usage {
                uncached, cache_read, cache_write, cache_write_1h, output, reasoning, ..
            } = usage;
            let ours = [uncached, cache_read, cache_write, cache_write_1h, output, reasoning];
            assert_eq!((ours, as_declared), *expected, "{name}");
        }
    }
}
