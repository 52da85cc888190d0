//! A provider's prompt cache: which prefix of a request is still held.

use crate::prices::request::{RequestLog, SentRequest};
use serde::{Deserialize, Serialize};

/// How a provider caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// Shortest prefix that is cached, in tokens.
    pub minimum: u64,
    /// Granularity of a match, in tokens; 1 for whole blocks.
    pub granularity: u64,
    /// Lifetime of a prefix after its last use, in milliseconds; `None` if it does not expire.
    pub ttl_ms: Option<i64>,
}

impl CacheRules {
    /// Whether a prefix that was last used at one time is still held at another, in milliseconds.
    pub fn holds(&self, last_ms: i64, now_ms: i64) -> bool {
        self.ttl_ms.is_none_or(|ttl| now_ms.saturating_sub(last_ms) <= ttl)
    }

    /// How many tokens of a prefix are cached.
    fn cacheable(&self, tokens: u64) -> u64 {
        let cut = tokens - tokens % self.granularity.max(1);
        if tokens < self.minimum { 0 } else { cut }
    }
}

/// The share of a prefix that a provider still had, by a recording.
///
/// Caches promise nothing: some requests find less than their rules say. A recording tells how much was lost at a call, and
/// whatever else might have been sent then is taken to lose the same share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HitShare {
    /// Tokens that were read.
    pub read: u64,
    /// Tokens that the request could have read.
    pub of: u64,
}

impl HitShare {
    /// The same share of another prefix.
    fn share(self, tokens: u64) -> u64 {
        let share = u128::from(tokens) * u128::from(self.read) / u128::from(self.of.max(1));
        u64::try_from(share).map_or(tokens, |share| share.min(tokens))
    }

    /// Whether most of it was lost.
    fn is_lost(self) -> bool {
        self.read < self.of.div_ceil(2)
    }
}

/// What the cache did for one request. `read + write + uncached` is the size of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheUse {
    /// Tokens read.
    pub read: u64,
    /// Tokens written.
    pub write: u64,
    /// Tokens that are not cached: too few, or the remainder below the granularity.
    pub uncached: u64,
    /// `min(previous, this)` minus the common prefix of the two requests: tokens that an edit of the history causes to be
    /// written again. Independent of pauses, and zero for an append-only history.
    pub churn: u64,
    /// Whether the pause after the previous request was longer than a prefix lives; where a recording tells what was still held,
    /// whether most of it was lost.
    pub expired: bool,
}

impl CacheUse {
    /// For a request of `total` tokens of which the cache holds a prefix.
    pub fn holding(total: u64, held: u64, rules: CacheRules) -> Self {
        let read = rules.cacheable(held).min(rules.cacheable(total));
        Self::reading(total, read, rules)
    }

    /// For a request that reads `read` tokens: the cached prefix ends there or behind.
    fn reading(total: u64, read: u64, rules: CacheRules) -> Self {
        let end = rules.cacheable(total).max(read);
        Self { read, write: end - read, uncached: total - end, ..Self::default() }
    }
}

/// A provider's cache over the requests of one conversation. It starts empty.
///
/// A request reads the longest prefix that it shares with any earlier request used within the
/// lifetime, in whole blocks, none below the minimum, cut to the granularity. A request without a
/// time counts as sent right after the one before; a clock that runs backwards stands still.
#[derive(Clone, Debug)]
pub struct Cache {
    rules: CacheRules,
    /// When each request was sent.
    times: Vec<i64>,
    previous: Option<u64>,
}

impl Cache {
    /// An empty cache.
    pub fn new(rules: CacheRules) -> Self {
        Self { rules, times: Vec::new(), previous: None }
    }

    /// What the cache does for the next request of a log.
    pub fn send(&mut self, request: &SentRequest, start_ms: Option<i64>) -> CacheUse {
        self.send_held(request, start_ms, None)
    }

    /// [`Self::send`], with the share that the provider still had where a recording tells it: it overrules the lifetime. For the
    /// first request, which has none before it, it is a share of the whole.
    fn send_held(
        &mut self,
        request: &SentRequest,
        start_ms: Option<i64>,
        told: Option<HitShare>,
    ) -> CacheUse {
        let before = self.times.last().copied().unwrap_or(i64::MIN);
        let now = start_ms.unwrap_or(before).max(before);
        let alive = |last: i64| last == i64::MIN || self.rules.holds(last, now);
        // Time runs forward, so nothing else is younger than the request before.
        let follows = self.previous.is_some();
        let held = follows && (told.is_some() || alive(before));
        let mut read = if held { request.kept_tokens } else { 0 };
        if held {
            let longer = request.revived.iter().take_while(|prefix| alive(self.times[prefix.last]));
            read = longer.last().map_or(read, |prefix| prefix.tokens);
        }
        let total = request.input_tokens;
        if let Some(told) = told {
            read = told.share(if follows { read } else { total });
        }
        let churn =
            self.previous.map_or(0, |before| before.min(total).saturating_sub(request.kept_tokens));
        let expired = follows && told.map_or(!held, HitShare::is_lost);
        self.times.push(now);
        self.previous = Some(total);
        // A recorded share is cut to blocks already.
        let cut = if told.is_some() { CacheUse::reading } else { CacheUse::holding };
        CacheUse { churn, expired, ..cut(total, read.min(total), self.rules) }
    }

    /// Bytes that the cache takes in memory.
    pub fn bytes(&self) -> usize {
        self.times.capacity() * size_of::<i64>()
    }
}

/// Sends the requests of a log through a cache that starts empty.
pub fn simulate(log: &RequestLog, rules: CacheRules) -> Vec<CacheUse> {
    simulate_at(log, &log.starts(), &[], rules)
}

/// [`simulate`] with other times and with what a recording tells of the cache, both in the order of the requests. Of requests
/// beyond the end of either nothing is known.
pub fn simulate_at(
    log: &RequestLog,
    starts: &[Option<i64>],
    held: &[Option<HitShare>],
    rules: CacheRules,
) -> Vec<CacheUse> {
    let mut cache = Cache::new(rules);
    let starts = starts.iter().copied().chain(std::iter::repeat(None));
    let held = held.iter().copied().chain(std::iter::repeat(None));
    let requests = log.requests().iter().zip(starts.zip(held));
    requests.map(|(request, (start_ms, held))| cache.send_held(request, start_ms, held)).collect()
}

#[cfg(test)]
mod tests;
