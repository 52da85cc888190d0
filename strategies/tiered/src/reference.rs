//! Context references: short ids for long contexts, and the store that returns them.
//!
//! An id is `ctx_` and the first eight hex digits of the SHA-256 of the context's JSON, so the same
//! context always has the same id. The store is bounded; which entry makes room is a choice, because
//! the document says "least recently used" and shows code that evicts the oldest.

use lru::LruCache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The id of a context, from its JSON.
pub fn id_of(json: &str) -> String {
    let digest = Sha256::digest(json.as_bytes());
    let mut id = String::from("ctx_");
    for byte in digest.iter().take(4) {
        id.push_str(&format!("{byte:02x}"));
    }
    id
}

/// Which reference makes room when the store is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// The one that was not looked up or created for the longest time.
    #[default]
    LeastRecentlyUsed,
    /// The one that was created first, looked up or not (the document's code).
    FirstInFirstOut,
}

/// A stored context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextReference {
    /// Its id.
    pub id: String,
    /// The channel (conversation) that it belongs to.
    pub channel: String,
    /// When it was stored, in milliseconds since the Unix epoch, by the injected clock.
    pub at: i64,
    /// Length of its JSON in UTF-16 code units.
    pub size: usize,
    /// The context as JSON.
    pub json: Arc<str>,
}

/// A bounded store of contexts that threads share.
#[derive(Debug)]
pub struct ContextReferences {
    entries: Mutex<LruCache<String, ContextReference>>,
    eviction: Eviction,
}

impl ContextReferences {
    /// A store of so many contexts.
    pub fn new(capacity: NonZeroUsize, eviction: Eviction) -> Self {
        Self { entries: Mutex::new(LruCache::new(capacity)), eviction }
    }

    fn entries(&self) -> MutexGuard<'_, LruCache<String, ContextReference>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a context and returns its reference.
    ///
    /// # Errors
    ///
    /// If the context can't be written as JSON (a map whose keys are not strings).
    pub fn create(
        &self,
        channel: &str,
        context: &(impl Serialize + ?Sized),
        now: i64,
    ) -> Result<ContextReference, serde_json::Error> {
        let json = serde_json::to_string(context)?;
        let reference = ContextReference {
            id: id_of(&json),
            channel: channel.to_owned(),
            at: now,
            size: crate::truncate::length(&json),
            json: json.into(),
        };
        let mut entries = self.entries();
        match self.eviction {
            // Setting a key that a JavaScript map has leaves it at its place.
            Eviction::FirstInFirstOut => match entries.peek_mut(&reference.id) {
                Some(known) => *known = reference.clone(),
                None => {
                    entries.put(reference.id.clone(), reference.clone());
                }
            },
            Eviction::LeastRecentlyUsed => {
                entries.put(reference.id.clone(), reference.clone());
            }
        }
        Ok(reference)
    }

    /// The context behind an id, if it is still there.
    pub fn lookup(&self, id: &str) -> Option<ContextReference> {
        let mut entries = self.entries();
        match self.eviction {
            Eviction::LeastRecentlyUsed => entries.get(id).cloned(),
            Eviction::FirstInFirstOut => entries.peek(id).cloned(),
        }
    }

    /// Number of contexts in the store.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_one_makes_room() {
        let cases = [
            (Eviction::LeastRecentlyUsed, [true, false, true]),
            (Eviction::FirstInFirstOut, [false, true, true]),
        ];
        for (eviction, expect) in cases {
            let store = ContextReferences::new(NonZeroUsize::new(2).unwrap(), eviction);
            let ids = ["a", "b"].map(|context| store.create("c", context, 0).unwrap().id);
            assert!(store.lookup(&ids[0]).is_some());
            let third = store.create("c", "third", 0).unwrap().id;
            let left = [&ids[0], &ids[1], &third].map(|id| store.lookup(id).is_some());
            assert_eq!(left, expect, "{eviction:?}");
            assert_eq!(store.len(), 2);
        }
    }

    #[test]
    fn what_is_stored() {
        let store = ContextReferences::new(NonZeroUsize::MIN, Eviction::default());
        assert!(store.is_empty());
        let reference = store.create("design", &["é😀"], 7).unwrap();
        assert_eq!(
            (reference.channel.as_str(), reference.at, reference.size),
            ("design", 7, "[\"é😀\"]".chars().count() + 1)
        );
        assert!(!store.is_empty());
        assert_eq!(store.lookup(&reference.id), Some(reference));
        assert_eq!(store.lookup("ctx_00000000"), None);
    }
}
