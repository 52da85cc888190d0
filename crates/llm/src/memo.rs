//! Summaries that were written before, so that no request is paid for twice.
//!
//! Folds are previewed, undone and repeated, and one strategy runs over many branches of a session. A
//! summary is kept under a hash of everything that it depends on, so a hit never depends on who came
//! first. Only what a model wrote is kept; stand-ins are requested again.

use foldback_core::provider::CompletionRequest;
use foldback_core::stage::SummaryRequest;
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// A hash of everything that a summary depends on.
pub(crate) type Key = [u8; 32];

/// The key of a summary that would be asked for with this request for the whole conversation.
pub(crate) fn key(version: u32, request: &SummaryRequest, whole: &CompletionRequest) -> Key {
    let mut hash = blake3::Hasher::new();
    let mut add = |text: &str| {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    let CompletionRequest {
        endpoint,
        system,
        turns,
        temperature,
        max_output,
        // How long an answer may take does not change it.
        timeout: _,
        replicate,
    } = whole;
    let parameters = (
        version,
        (&endpoint.provider, &endpoint.model, &endpoint.base_url),
        (temperature, max_output, replicate),
        (&request.style, request.budget, request.estimator.id()),
    );
    add(&format!("{parameters:?}"));
    add(system);
    for turn in turns {
        add(turn.role.as_str());
        add(&turn.text);
    }
    hash.finalize().into()
}

/// Texts by key. The least recently used text makes room.
#[derive(Debug)]
pub(crate) struct Memo {
    texts: Option<Mutex<LruCache<Key, String>>>,
}

impl Memo {
    /// A memo for so many texts; 0 for none.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { texts: NonZeroUsize::new(capacity).map(|size| Mutex::new(LruCache::new(size))) }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<String> {
        let texts = self.texts.as_ref()?;
        // A panic elsewhere can't leave the map half changed.
        let mut texts = texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.get(key).cloned()
    }

    pub(crate) fn put(&self, key: Key, text: &str) {
        if let Some(texts) = &self.texts {
            let mut texts = texts.lock().unwrap_or_else(PoisonError::into_inner);
            texts.put(key, text.to_owned());
        }
    }
}
