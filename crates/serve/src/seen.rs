//! What was read of a conversation's latest request, so that of the next one only what is new is read.
//!
//! The next request is recognised by its bytes before it is read: it begins with those of the one before, up to the end of
//! its last message. They are compared by their hash; whatever begins otherwise is read from its beginning.

use blake3::Hasher;
use foldback_live::follow::identity::{self, Key};
use foldback_wire::{Dialect, Outline, Request, WireError};
use std::sync::Arc;

/// Bytes at the end by which most others are told apart without a hash.
const LAST: usize = 48;

/// What was read of a request.
pub(crate) struct Seen {
    outline: Outline,
    keys: Vec<Key>,
    /// Of the bytes up to the end of its last message.
    hash: Key,
    last: [u8; LAST],
}

/// A request, its keys, and what the next one needs.
pub(crate) struct Read {
    pub(crate) request: Request,
    pub(crate) keys: Vec<Key>,
    pub(crate) seen: Option<Arc<Seen>>,
}

impl Seen {
    /// Whether a body may begin with the bytes of this one.
    pub(crate) fn may_begin(&self, body: &[u8]) -> bool {
        let end = self.outline.end();
        end.checked_sub(LAST).and_then(|begin| body.get(begin..end)) == Some(&self.last)
    }

    /// The hash of its bytes at the beginning of a body; `None` where that has others.
    fn begins(&self, body: &str) -> Option<Hasher> {
        let mut hasher = Hasher::new();
        hasher.update(body.as_bytes().get(..self.outline.end())?);
        (hasher.finalize() == self.hash).then_some(hasher)
    }
}

/// Reads a body that may begin with the bytes of one of these.
///
/// # Errors
///
/// As [`Request::parse`].
pub(crate) fn read(dialect: Dialect, body: &str, known: &[Arc<Seen>]) -> Result<Read, WireError> {
    let begins = |seen: &Arc<Seen>| Some((Arc::clone(seen), seen.begins(body)?));
    let before = known.iter().filter_map(begins).max_by_key(|(seen, _)| seen.outline.end());
    let outline = before.as_ref().map(|(seen, _)| &seen.outline);
    let (request, outline) = Request::follow(dialect, body, outline)?;
    let mut keys = vec![identity::first(dialect.as_str())];
    let (mut hasher, mut hashed) = (Hasher::new(), 0);
    if let Some((seen, begun)) = before {
        let both = request.messages().iter().zip(seen.outline.messages());
        let same = both.take_while(|(one, other)| Arc::ptr_eq(one, other)).count();
        keys = seen.keys[..=same].to_vec();
        (hasher, hashed) = (begun, seen.outline.end());
    }
    identity::extend(&mut keys, request.messages());
    let seen = outline.and_then(|outline| {
        let end = outline.end();
        let last = body.as_bytes().get(end.checked_sub(LAST)?..end)?.try_into().ok()?;
        let hash = hasher.update(&body.as_bytes()[hashed..end]).finalize();
        Some(Arc::new(Seen { outline, keys: keys.clone(), hash, last }))
    });
    Ok(Read { request, keys, seen })
}
