//! The conversations in memory: which one a request continues, how many bytes they take, and which has to go first.

use super::answers;
use super::items::Items;
use super::journals::JournalName;
use super::shelf::Shelf;
use super::state::{SharedState, State};
use crate::bill::course::Course;
use crate::fold::Id;
use crate::fold::prefix::Prefix;
use foldback_core::log::Role;
use foldback_live::follow::Followed;
use foldback_live::follow::identity::Key;
use foldback_providers::wire::Request;
use lru::LruCache;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The conversations in memory, and what is known of those that left it.
pub(super) struct Table {
    pub(super) entries: LruCache<Id, Entry>,
    /// By the key after their last message.
    tips: HashMap<Key, Vec<Id>>,
    pub(super) next: Id,
    pub(super) bytes: usize,
    pub(super) evicted: u64,
    /// The journals of conversations that left memory.
    pub(super) shelf: Shelf,
    /// Items of answers that later requests may refer to.
    pub(super) items: Items,
}

/// A conversation in memory.
pub(super) struct Entry {
    followed: SharedState,
    tip: Key,
    frame: Key,
    base: usize,
    bytes: usize,
    /// Its journal.
    pub(super) path: Option<PathBuf>,
    pub(super) course: Course,
    /// Its latest request.
    pub(super) prefix: Option<Arc<Prefix>>,
}

impl Table {
    /// No conversations; as many journals of others may stay on disk.
    pub(super) fn new(max_journals: usize) -> Self {
        Self {
            // The limit is kept by hand, where the tips are.
            entries: LruCache::unbounded(),
            tips: HashMap::new(),
            next: 1,
            bytes: 0,
            evicted: 0,
            shelf: Shelf::new(max_journals),
            items: Items::default(),
        }
    }

    pub(super) fn find(
        &self,
        request: &Request,
        keys: &[Key],
        base: usize,
        frame: Key,
    ) -> Option<Id> {
        let answered = answered(request);
        (1..keys.len()).rev().find_map(|length| {
            let ids = self.tips.get(&keys[length])?;
            let entries = ids.iter().filter_map(|id| Some((*id, self.entries.peek(id)?)));
            let fits = entries.filter(|(_, entry)| {
                entry.base == base && (entry.frame == frame || answered < length)
            });
            // The same frame first, then the newest.
            fits.max_by_key(|(id, entry)| (entry.frame == frame, *id)).map(|(id, _)| id)
        })
    }

    pub(super) fn insert(
        &mut self,
        id: Id,
        followed: SharedState,
        base: usize,
        path: Option<PathBuf>,
    ) {
        let nothing = blake3::Hash::from_bytes([0; 32]);
        self.entries.put(
            id,
            Entry {
                followed,
                tip: nothing,
                frame: nothing,
                base,
                bytes: 0,
                path,
                course: Course::default(),
                prefix: None,
            },
        );
    }

    pub(super) fn claim(&mut self, id: Id, tip: Key, frame: Key) -> SharedState {
        self.leave_tip(id);
        self.tips.entry(tip).or_default().push(id);
        let entry = self.entries.get_mut(&id).unwrap_or_else(|| unreachable!("found above"));
        (entry.tip, entry.frame) = (tip, frame);
        Arc::clone(&entry.followed)
    }

    /// Notes the bytes of a conversation, with those of what is kept for its page, for its answers and for its next
    /// request.
    pub(super) fn weigh(&mut self, id: Id, bytes: usize) {
        let Some(entry) = self.entries.peek_mut(&id) else { return };
        let prefix = entry.prefix.as_ref().map_or(0, |prefix| prefix.bytes());
        let beside = entry.course.bytes() + answers::bytes(entry.course.requests) + prefix;
        let beside = beside + self.items.bytes(id);
        let bytes = bytes + size_of::<Entry>() + beside;
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
    }

    fn leave_tip(&mut self, id: Id) {
        let Some(tip) = self.entries.peek(&id).map(|entry| entry.tip) else { return };
        if let Some(ids) = self.tips.get_mut(&tip) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.tips.remove(&tip);
            }
        }
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<Entry> {
        self.leave_tip(id);
        let entry = self.entries.pop(&id)?;
        self.items.forget(id);
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Forgets the oldest conversations until the rest is within the limits. The newest stays. Returns the forgotten
    /// ones, so that they are dropped when nobody waits.
    pub(super) fn evict(&mut self, conversations: usize, bytes: usize) -> Vec<Entry> {
        let mut gone = Vec::new();
        while self.entries.len() > 1 && (self.entries.len() > conversations || self.bytes > bytes) {
            let Some(oldest) = self.entries.peek_lru().map(|(id, _)| *id) else { break };
            let Some(mut entry) = self.remove(oldest) else { break };
            if let Some(path) = entry.path.take() {
                self.shelf.put(path, Some(entry.tip));
            }
            self.evicted += 1;
            gone.push(entry);
        }
        gone
    }

    /// Takes a conversation that was read from its journal.
    pub(super) fn restored(
        &mut self,
        journal: &JournalName,
        path: PathBuf,
        mut followed: Followed,
    ) {
        let (tip, bytes) = (followed.key(), followed.bytes());
        self.insert(journal.id, State::new(followed), journal.base, Some(path));
        // Its frame is not known. An answer of the model is enough to go on.
        self.claim(journal.id, tip, blake3::Hash::from_bytes([0; 32]));
        self.weigh(journal.id, bytes);
    }
}

/// The place of the first answer of the model in a request.
pub(super) fn answered(request: &Request) -> usize {
    let mut messages = request.messages().iter();
    messages.position(|message| message.role == Role::Assistant).unwrap_or(usize::MAX)
}
