//! Summaries that need not be asked for again.
//!
//! Tiers are built again from the log at every fold, so the same run of messages is summarized again
//! whenever a fold is previewed, undone, repeated or replayed. A summary is kept under a hash of
//! everything that it depends on: tier, content, style and prompt version, budget, instructions,
//! estimator and summarizer. A cache may therefore be shared by threads, sessions and strategies, and
//! what it answers never depends on who came first (as far as the summarizer itself is repeatable).
//!
//! Eviction is by least recent use, over all of the cache. One lock is enough for that: a fold looks
//! up three summaries, and the hash is made outside of the lock.

use async_trait::async_trait;
use foldback_core::log::Message;
use foldback_core::provider::Asks;
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use lru::LruCache;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Version of what is asked of a summarizer for each style; part of every key.
const PROMPT_VERSION: u32 = 1;

/// A hash of everything that a summary depends on.
pub type Key = [u8; 32];

/// The key of a request to a summarizer.
pub fn key(request: &SummaryRequest, summarizer: &str) -> Key {
    let mut hash = Hash::default();
    let SummaryRequest {
        name,
        style,
        messages,
        previous,
        instructions,
        budget,
        estimator,
        // It replaces the summary, so none is asked for.
        ready: _,
    } = request;
    let about = (
        PROMPT_VERSION,
        (name, style),
        (summarizer, &**estimator.id()),
        (budget, previous, instructions),
    );
    hash.add(&about);
    for message in messages {
        hash.0.update(digest(message));
    }
    hash.0.finalize().into()
}

/// The hash of a message. The oldest tier is most of a session, and every fold asks for all of it.
fn digest(message: &Message) -> Key {
    #[derive(Clone, Copy)]
    struct Digest(Key);
    let made = message.derived.get_or(|| {
        let mut hash = Hash::default();
        hash.add(message);
        Digest(hash.0.finalize().into())
    });
    made.0
}

/// Hashes values through their JSON, without holding it.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn add(&mut self, value: &impl Serialize) {
        // Neither the hash nor the types that are hashed can fail; a failure would only cost a hit.
        let failed = serde_json::to_writer(&mut *self, value).is_err();
        self.0.update([u8::from(failed)]);
    }
}

impl io::Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How a cache is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheStatistics {
    /// Look-ups that found a summary.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
    /// Summaries that had to make room.
    pub evictions: u64,
    /// Summaries in it now.
    pub entries: usize,
}

impl CacheStatistics {
    /// Hits per look-up; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        let asked = self.hits + self.misses;
        (asked > 0).then(|| self.hits as f64 / asked as f64)
    }
}

/// A cache of summaries that threads share.
#[derive(Debug)]
pub struct SummaryCache {
    entries: Mutex<LruCache<Key, Summary>>,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

impl SummaryCache {
    /// A cache of so many summaries.
    pub fn new(capacity: NonZeroUsize) -> Self {
        Self {
            entries: Mutex::new(LruCache::new(capacity)),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    fn entries(&self) -> MutexGuard<'_, LruCache<Key, Summary>> {
        // A panic elsewhere can't leave the map half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The summary under a key, which is now the most recently used one.
    pub fn get(&self, key: &Key) -> Option<Summary> {
        let found = self.entries().get(key).cloned();
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a summary; the least recently used one makes room for it. A summary that is already there
    /// stays: the first one wins.
    pub fn put(&self, key: Key, summary: Summary) {
        let mut entries = self.entries();
        if entries.get(&key).is_none() && entries.push(key, summary).is_some() {
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts so far.
    pub fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
            entries: self.entries().len(),
        }
    }
}

/// A summarizer that asks the cache first.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) own: Arc<dyn Summarizer>,
    pub(crate) cache: Arc<SummaryCache>,
}

#[async_trait]
impl Summarizer for Cached {
    fn id(&self) -> &str {
        self.own.id()
    }

    fn asks(&self) -> Vec<Asks> {
        self.own.asks()
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        let key = key(request, self.id());
        if let Some(summary) = self.cache.get(&key) {
            // It was paid for when it was written.
            return Ok(Summary { usage: None, ..summary });
        }
        let summary = self.own.summarize(request, services).await?;
        // What stood in for the summarizer (a copy, a dry run) is no summary of its own, and would be
        // taken for one by everybody who shares the cache.
        if summary.by == self.id() {
            self.cache.put(key, summary.clone());
        }
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> Summary {
        Summary {
            text: text.to_owned(),
            tokens: 1,
            by: "test".to_owned(),
            usage: None,
            lacks: None,
        }
    }

    fn cache(capacity: usize) -> SummaryCache {
        SummaryCache::new(NonZeroUsize::new(capacity).unwrap())
    }

    #[test]
    fn the_least_recently_used_makes_room_not_the_oldest() {
        let cache = cache(2);
        cache.put([1; 32], summary("a"));
        cache.put([2; 32], summary("b"));
        assert!(cache.get(&[1; 32]).is_some());
        cache.put([3; 32], summary("c"));
        let left = [1, 2, 3].map(|n| cache.get(&[n; 32]).map(|s| s.text));
        assert_eq!(left, [Some("a".into()), None, Some("c".into())]);
        let expect = CacheStatistics { hits: 3, misses: 1, evictions: 1, entries: 2 };
        assert_eq!(cache.statistics(), expect);
        assert_eq!(cache.statistics().hit_rate(), Some(0.75));
    }

    #[test]
    fn threads_share_it() {
        let cache = Arc::new(cache(64));
        let threads: Vec<_> = (0..4u8)
            .map(|_| {
                let cache = Arc::clone(&cache);
                std::thread::spawn(move || {
                    for n in 0..32 {
                        if cache.get(&[n; 32]).is_none() {
                            cache.put([n; 32], summary(&n.to_string()));
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let statistics = cache.statistics();
        assert_eq!(statistics.entries, 32);
        assert_eq!(statistics.hits + statistics.misses, 4 * 32);
        assert_eq!(cache.get(&[7; 32]), Some(summary("7")));
    }

    #[test]
    fn no_rate_before_the_first_look() {
        assert_eq!(cache(1).statistics().hit_rate(), None);
    }
}
