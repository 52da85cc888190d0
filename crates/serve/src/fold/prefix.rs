//! The latest request of a conversation, as it was read: only the new part of the next one is parsed.
//!
//! The next request is recognized before it is read: it begins with the bytes of the request before, up to the end of
//! its last message. The bytes are compared by hash, in one pass over the body for all candidates. A request that
//! begins otherwise is read from its beginning.

use blake3::Hasher;
use foldback_live::follow::identity::{self, Key};
use foldback_providers::wire::{Dialect, Outline, Reading, Request, Text, WireError};
use std::sync::Arc;

/// Bytes at the end that tell most requests apart without a hash.
const LAST: usize = 48;

/// The outline and the keys of a request that later ones may begin with.
#[derive(Clone)]
pub(crate) struct Prefix {
    outline: Outline,
    keys: Arc<Vec<Key>>,
    /// Hash of the bytes up to the end of the last message.
    hash: Key,
    last: [u8; LAST],
}

/// A request, its keys, and what the next one needs.
pub(crate) struct ParsedRequest {
    pub(crate) request: Request,
    pub(crate) keys: Arc<Vec<Key>>,
    pub(crate) prefix: Option<Prefix>,
}

/// The longest prefix that a body begins with, and the hash up to its end.
pub(crate) struct PrefixMatch {
    pub(crate) prefix: Arc<Prefix>,
    hasher: Hasher,
}

impl Prefix {
    /// Bytes in memory besides those of the conversation.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.outline.bytes()
    }

    /// Whether a body may begin with the bytes of this one.
    pub(crate) fn may_begin(&self, body: &[u8]) -> bool {
        let end = self.outline.end();
        end.checked_sub(LAST).and_then(|begin| body.get(begin..end)) == Some(&self.last)
    }
}

/// The longest of these requests that a body begins with.
pub(crate) fn longest(body: &[u8], mut known: Vec<Arc<Prefix>>) -> Option<PrefixMatch> {
    known.sort_by_key(|prefix| prefix.outline.end());
    let (mut hasher, mut hashed, mut longest) = (Hasher::new(), 0, None);
    for prefix in known {
        let end = prefix.outline.end();
        hasher.update(body.get(hashed..end)?);
        hashed = end;
        if hasher.finalize() == prefix.hash {
            longest = Some(PrefixMatch { prefix, hasher: hasher.clone() });
        }
    }
    longest
}

/// Reads a body that may begin with the bytes of another.
///
/// # Errors
///
/// As [`Request::parse`].
pub(crate) fn read(
    dialect: Dialect,
    body: &Text,
    matched: Option<PrefixMatch>,
    at: i64,
) -> Result<ParsedRequest, WireError> {
    let (mut hasher, mut hashed, mut before) = (Hasher::new(), 0, None);
    let mut keys = Arc::new(vec![identity::first(dialect.as_str())]);
    if let Some(PrefixMatch { prefix, hasher: matched }) = matched {
        let prefix = Arc::unwrap_or_clone(prefix);
        (hasher, hashed, keys) = (matched, prefix.outline.end(), prefix.keys);
        before = Some(prefix.outline);
    }
    let Reading { request, outline, known, .. } =
        Request::follow(dialect, body.clone(), before, at)?;
    let own = Arc::make_mut(&mut keys);
    own.truncate(known + 1);
    identity::extend(own, request.messages());
    let prefix = outline.and_then(|outline| {
        let end = outline.end();
        let last = body.as_bytes().get(end.checked_sub(LAST)?..end)?.try_into().ok()?;
        let hash = hasher.update(body.as_bytes().get(hashed..end)?).finalize();
        Some(Prefix { outline, keys: Arc::clone(&keys), hash, last })
    });
    Ok(ParsedRequest { request, keys, prefix })
}
