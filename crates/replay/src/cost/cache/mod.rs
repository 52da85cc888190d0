//! A provider's prompt cache: which prefix of a request is still held.

use super::request::RequestLog;
use serde::Serialize;

/// How a provider caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// Shortest prefix that is cached, in tokens.
    pub minimum: u64,
    /// Step in which a prefix is matched, in tokens; 1 for whole blocks.
    pub granularity: u64,
    /// Life of a prefix since its last use, in milliseconds; `None` when it does not expire.
    pub ttl_ms: Option<i64>,
}

impl CacheRules {
    /// How many tokens of a prefix are cached.
    fn cacheable(&self, tokens: u64) -> u64 {
        let cut = tokens - tokens % self.granularity.max(1);
        if tokens < self.minimum { 0 } else { cut }
    }
}

/// What the cache did for one request. `read + write + uncached` is the size of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheUse {
    /// Tokens read.
    pub read: u64,
    /// Tokens written.
    pub write: u64,
    /// Tokens that are too few, or the rest of a step, to be cached.
    pub uncached: u64,
    /// `min(previous, this)` less what the two have in common: tokens that an edit of the history
    /// made be written again. Independent of pauses, and zero for an append-only history.
    pub churn: u64,
    /// The pause since the request before was longer than a prefix lives.
    pub expired: bool,
}

impl CacheUse {
    /// For a request of a size of which the cache holds a prefix of so many tokens.
    pub fn of(total: u64, held: u64, rules: CacheRules) -> Self {
        let end = rules.cacheable(total);
        let read = rules.cacheable(held).min(end);
        Self { read, write: end - read, uncached: total - end, ..Self::default() }
    }
}

/// Sends the requests of a log through a cache that starts empty.
pub fn simulate(log: &RequestLog, rules: CacheRules) -> Vec<CacheUse> {
    simulate_at(log, &log.starts(), rules)
}

/// The same at other times, in the order of the requests; those after the end have none.
///
/// A request reads the longest prefix that it shares with any earlier request used within the
/// lifetime, in whole blocks, none below the minimum, cut to the granularity. A request without a
/// time counts as sent right after the one before; a clock that runs backwards stands still.
pub(super) fn simulate_at(
    log: &RequestLog,
    starts: &[Option<i64>],
    rules: CacheRules,
) -> Vec<CacheUse> {
    let mut uses = Vec::with_capacity(log.requests().len());
    // When each request was sent.
    let mut times: Vec<i64> = Vec::with_capacity(log.requests().len());
    let mut previous = None;
    for (number, request) in log.requests().iter().enumerate() {
        let before = times.last().copied().unwrap_or(i64::MIN);
        let now = starts.get(number).copied().flatten().unwrap_or(before).max(before);
        let alive = |last: i64| {
            rules.ttl_ms.is_none_or(|ttl| last == i64::MIN || now.saturating_sub(last) <= ttl)
        };
        // Time runs forward, so nothing else is younger than the request before.
        let held = previous.is_some() && alive(before);
        let mut read = if held { request.kept_tokens } else { 0 };
        if held {
            let longer = request.revived.iter().take_while(|prefix| alive(times[prefix.last]));
            read = longer.last().map_or(read, |prefix| prefix.tokens);
        }
        let total = request.input_tokens;
        let churn =
            previous.map_or(0, |before: u64| before.min(total).saturating_sub(request.kept_tokens));
        let expired = previous.is_some() && !held;
        uses.push(CacheUse { churn, expired, ..CacheUse::of(total, read, rules) });
        times.push(now);
        previous = Some(total);
    }
    uses
}

#[cfg(test)]
mod tests;
