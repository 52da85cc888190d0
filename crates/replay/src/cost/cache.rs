//! A provider's prompt cache: which prefix of a request is still held.

use super::request::RequestLog;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// Sends the requests of a log through a cache that starts empty.
///
/// A request reads the longest prefix that it shares with any earlier request used within the
/// lifetime, in whole blocks, none below the minimum, cut to the granularity. A request without a
/// time counts as sent right after the one before; a clock that runs backwards stands still.
pub fn simulate(log: &RequestLog, rules: CacheRules) -> Vec<CacheUse> {
    let mut cache = Cache::default();
    log.requests()
        .iter()
        .map(|request| {
            let added: Vec<(u64, u64)> =
                request.added.iter().map(|block| (block.key, block.tokens)).collect();
            cache.send(request.kept, &added, request.start_ms, rules)
        })
        .collect()
}

/// A prefix: hash of its blocks, and its tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Prefix {
    hash: u64,
    tokens: u64,
}

/// Every prefix of the latest request was last used by that request. The prefixes that a request
/// left behind are remembered with the time of their last use, so that a send costs what it changes.
#[derive(Debug, Default)]
struct Cache {
    latest: Vec<Prefix>,
    left: BTreeMap<u64, i64>,
    now: Option<i64>,
    warm: bool,
}

impl Cache {
    fn send(
        &mut self,
        kept: usize,
        added: &[(u64, u64)],
        start_ms: Option<i64>,
        rules: CacheRules,
    ) -> CacheUse {
        let before = self.now.unwrap_or(i64::MIN);
        let now = start_ms.unwrap_or(before).max(before);
        let alive = |last: i64| {
            rules.ttl_ms.is_none_or(|ttl| last == i64::MIN || now.saturating_sub(last) <= ttl)
        };
        // Time runs forward, so nothing else is younger than the latest request.
        let held = self.warm && alive(before);
        let previous = self.latest.last().map_or(0, |prefix| prefix.tokens);
        let kept = kept.min(self.latest.len());
        for prefix in self.latest.drain(kept..) {
            self.left.insert(prefix.hash, before);
        }
        let common = self.latest.last().copied().unwrap_or_default();
        let mut read = if held { common.tokens } else { 0 };
        let mut at = common;
        let mut matching = held;
        for (key, tokens) in added {
            at = Prefix { hash: chain(at.hash, *key, *tokens), tokens: at.tokens + tokens };
            matching = matching && self.left.get(&at.hash).is_some_and(|last| alive(*last));
            if matching {
                read = at.tokens;
            }
            self.latest.push(at);
        }
        let total = at.tokens;
        let expired = self.warm && !held;
        let churn = if self.warm { previous.min(total).saturating_sub(common.tokens) } else { 0 };
        self.now = Some(now);
        self.warm = true;
        let cacheable = |tokens: u64| {
            let cut = tokens - tokens % rules.granularity.max(1);
            if tokens < rules.minimum { 0 } else { cut }
        };
        let (read, end) = (cacheable(read), cacheable(total));
        CacheUse { read, write: end - read, uncached: total - end, churn, expired }
    }
}

/// Hash of a prefix that is longer by one block (the finaliser of SplitMix64).
fn chain(hash: u64, key: u64, tokens: u64) -> u64 {
    let mut z = hash.rotate_left(23) ^ key ^ tokens.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
