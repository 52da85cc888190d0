//! The conversations that are followed: which one a request continues, and how many are kept.
//!
//! A request continues the conversation whose last [key](foldback_live::follow::identity) is among its own, the longest first. It must
//! have the same frame, unless it repeats an answer of the model: two sub-agents may begin with the same words, and no
//! two conversations go on with the same answers by chance. Whatever branches off in the middle (a fork, an edited
//! message, the second of two clients) is a conversation of its own, followed from its beginning, and takes nothing from
//! the one that it left.

mod items;
mod restore;

use crate::answers::{self, Answers};
use crate::bill::{Bill, Requests, Sums, rounds_usd};
use crate::course::Course;
use crate::fold::Turn;
use crate::folding::Folding;
use crate::journals::{self, Named};
use crate::numbers::in_order;
use crate::outcome::protocol;
use crate::seen::{self, Begun, Seen};
use crate::server::ServeError;
use crate::settings::Say;
use crate::shelf::Shelf;
use crate::summaries::Wish;
use crate::threads::Threads;
use crate::told::Told;
use dashmap::DashMap;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part, Role};
use foldback_core::meter::Meter;
use foldback_core::services::Services;
use foldback_core::{Frame, Limits};
use foldback_live::Metrics;
use foldback_live::follow::identity::{self, Key};
use foldback_live::follow::{Ahead, Followed, base_of, frame_of};
use foldback_live::journal::JournalError;
use foldback_providers::wire::Request;
use items::Items;
use lru::LruCache;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{self, error::TryRecvError};

/// Number of a conversation, from 1.
pub(crate) type Id = u64;

/// A conversation that one request at a time changes.
pub(crate) type Shared = Arc<tokio::sync::Mutex<Held>>;

/// What one request at a time changes.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) followed: Followed,
    /// What its requests cost.
    pub(crate) requests: Requests,
    /// Where a copy that folds is awaited.
    pub(crate) ahead: Option<oneshot::Receiver<Ahead>>,
}

impl Held {
    fn new(followed: Followed) -> Shared {
        let requests = Requests::default();
        Arc::new(tokio::sync::Mutex::new(Self { followed, requests, ahead: None }))
    }

    /// Takes the copy that has folded since the last request, if there is one.
    ///
    /// # Errors
    ///
    /// The journal can't be written. Then there is no fold.
    pub(crate) fn catch_up(&mut self) -> Result<(), JournalError> {
        let Some(mut awaited) = self.ahead.take() else { return Ok(()) };
        match awaited.try_recv() {
            Err(TryRecvError::Empty) => self.ahead = Some(awaited),
            Err(TryRecvError::Closed) => self.followed.ahead_is_lost(),
            Ok(ahead) => {
                self.followed.adopt(ahead)?;
                self.requests.begin_again();
            }
        }
        Ok(())
    }

    /// The fold for which a model is to be asked, if there is a new one.
    pub(crate) fn wish(&mut self, id: Id) -> Option<Wish> {
        let ahead = self.followed.take_ahead()?;
        let (done, awaited) = oneshot::channel();
        self.ahead = Some(awaited);
        Some(Wish { id, ahead, done })
    }
}

/// The conversations that are followed.
pub(crate) struct Conversations {
    pub(crate) folding: Folding,
    pub(crate) metrics: Arc<Metrics>,
    kept: Mutex<Kept>,
    pub(crate) answers: Answers,
    /// What the answers of all conversations cost, by protocol, forgotten conversations included.
    sums: DashMap<&'static str, Sums>,
    unwritten: AtomicU64,
    /// Whether it was said that a client leaves its conversation, or items of it, with its provider.
    left: [AtomicBool; 2],
    say: Say,
    pub(crate) threads: Threads,
}

struct Kept {
    entries: LruCache<Id, Entry>,
    /// By the key after their last message.
    tips: HashMap<Key, Vec<Id>>,
    next: Id,
    bytes: usize,
    evicted: u64,
    /// The journals of conversations that left memory.
    shelf: Shelf,
    /// Items of answers that later requests may refer to.
    items: Items,
}

struct Entry {
    followed: Shared,
    tip: Key,
    frame: Key,
    base: usize,
    bytes: usize,
    /// Its journal.
    path: Option<PathBuf>,
    course: Course,
    /// Its latest request.
    seen: Option<Arc<Seen>>,
}

impl Conversations {
    /// No conversations, or those of the folder of journals.
    pub(crate) fn new(folding: Folding, say: Say) -> Result<Self, ServeError> {
        let most = NonZeroUsize::new(folding.max_conversations).unwrap_or(NonZeroUsize::MIN);
        let kept = Kept {
            // The limit is kept by hand, where the tips are.
            entries: LruCache::unbounded(),
            tips: HashMap::new(),
            next: 1,
            bytes: 0,
            evicted: 0,
            shelf: Shelf::new(folding.max_journals),
            items: Items::default(),
        };
        let new = Self {
            folding,
            metrics: Arc::default(),
            kept: Mutex::new(kept),
            answers: Answers::new(most),
            sums: DashMap::new(),
            unwritten: AtomicU64::default(),
            left: Default::default(),
            say,
            threads: Threads::new()?,
        };
        if let Some(folder) = &new.folding.journal {
            new.restore(folder)?;
        }
        Ok(new)
    }

    /// Counts a conversation that could not be written.
    pub(crate) fn unwritten(&self) {
        self.unwritten.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of times that a conversation could not be written.
    pub(crate) fn unwritten_count(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    /// The conversation that a request continues, or a new one. It now ends with this request, so the next request that
    /// repeats it continues it, too.
    pub(crate) fn of(&self, request: &Request, keys: &[Key], limits: Limits) -> (Id, Shared) {
        let base = base_of(request.messages());
        let frame = frame_of(request.frame(), request.messages(), base);
        let framed = hashed(&frame);
        let tip = identity::end(keys);
        let mut kept = lock(&self.kept);
        let mut found = kept.find(request, keys, base, framed);
        if found.is_none()
            && let Some((named, path)) = kept.shelf.take(keys, base, answered(request))
        {
            // Nobody waits while it is read.
            drop(kept);
            let read = self.read_journal(&named, &path);
            kept = lock(&self.kept);
            match read {
                Ok(followed) => {
                    found = Some(named.id);
                    kept.restored(&named, path, followed);
                }
                // A request of it may still be under way, from before it had to go.
                Err(_) => kept.shelf.put(path, None),
            }
        }
        let id = found.unwrap_or_else(|| {
            let id = kept.next;
            kept.next += 1;
            let named = Named { dialect: request.dialect(), base, key: keys[base], id };
            let path = self.folding.journal.as_ref().map(|folder| named.path(folder));
            let followed = Followed::new(self.empty(id, frame, limits), base, keys[base]);
            let followed = self.asking(followed.written_to(path.clone()));
            kept.insert(id, Held::new(followed), base, path);
            id
        });
        let followed = kept.claim(id, tip, framed);
        let gone = kept.evict(self.folding.max_conversations, self.folding.max_bytes);
        drop(kept);
        drop(gone);
        (id, followed)
    }

    /// The latest requests that a body may begin with.
    fn seen(&self, body: &[u8]) -> Vec<Arc<Seen>> {
        let kept = lock(&self.kept);
        let seen = kept.entries.iter().filter_map(|(_, entry)| entry.seen.as_ref());
        seen.filter(|seen| seen.may_begin(body)).map(Arc::clone).collect()
    }

    /// The longest of the latest requests that a body begins with. It is taken out: what was read of it moves to the new
    /// request without a copy.
    pub(crate) fn take_seen(&self, body: &[u8]) -> Option<Begun> {
        let longest = seen::longest(body, self.seen(body))?;
        let mut kept = lock(&self.kept);
        let mut entries = kept.entries.iter_mut().map(|(_, entry)| &mut entry.seen);
        let is_it = |seen: &Arc<Seen>| Arc::ptr_eq(seen, &longest.seen);
        if let Some(seen) = entries.find(|seen| seen.as_ref().is_some_and(is_it)) {
            *seen = None;
        }
        Some(longest)
    }

    /// Keeps what was read of the latest request of a conversation.
    pub(crate) fn saw(&self, id: Id, seen: Option<Seen>) {
        if let Some(entry) = lock(&self.kept).entries.peek_mut(&id) {
            entry.seen = seen.map(Arc::new);
        }
    }

    /// A new engine.
    fn empty(&self, id: Id, frame: Frame, limits: Limits) -> Conversation {
        let (metrics, say) = (Arc::clone(&self.metrics), Arc::clone(&self.say));
        let services = Services::with_clock(Arc::clone(&self.folding.clock))
            .with_observer(Arc::new(Told { id, metrics, say }));
        Conversation::new(Arc::clone(&self.folding.strategy), limits, frame, services)
    }

    /// A conversation whose summaries nobody waits for, if a model writes them.
    fn asking(&self, followed: Followed) -> Followed {
        match self.folding.summaries {
            Some(_) => followed.asking_later(),
            None => followed,
        }
    }

    /// Forgets a conversation that can't be trusted any more, with its journal.
    pub(crate) fn forget(&self, id: Id) {
        let gone = lock(&self.kept).remove(id);
        if let Some(path) = gone.and_then(|entry| entry.path) {
            journals::delete(&path);
        }
    }

    /// Adds a request to the course of its conversation, which now takes so many bytes in memory. If all conversations
    /// take too many, the oldest are forgotten.
    pub(crate) fn note(&self, id: Id, request: &Request, held: &mut Held) {
        let Held { followed, requests, .. } = held;
        let mut kept = lock(&self.kept);
        if let Some(entry) = kept.entries.peek_mut(&id) {
            entry.course.add(request, followed.sizes());
            kept.weigh(id, followed.bytes() + requests.bytes());
            let gone = kept.evict(self.folding.max_conversations, self.folding.max_bytes);
            drop(kept);
            drop(gone);
        }
    }

    /// The courses of so many conversations, those with the latest requests first.
    pub(crate) fn courses(&self, most: usize) -> Vec<(Id, Course)> {
        let kept = lock(&self.kept);
        let seen = kept.entries.iter().filter(|(_, entry)| entry.course.requests > 0);
        seen.take(most).map(|(id, entry)| (*id, entry.course.clone())).collect()
    }

    /// Number of kept conversations, their bytes, and the number of forgotten ones.
    pub(crate) fn count(&self) -> (u64, u64, u64) {
        let kept = lock(&self.kept);
        (kept.entries.len() as u64, kept.bytes as u64, kept.evicted)
    }

    /// Remembers what a provider said of its answer to a request of a conversation, and adds what both cost.
    pub(crate) fn answered(&self, turn: &Turn, answer: &Message) {
        let estimated =
            || Meter::new(Arc::clone(self.folding.strategy.estimator())).measure(answer);
        let told = answer.answer.as_ref().and_then(|answer| answer.usage);
        let told = told.filter(|usage| !usage.is_zero());
        // An answer that is a compaction and nothing else has none.
        let compacted = answer.parts.iter().all(Part::is_compaction);
        let output = match told {
            Some(usage) => usage.output_total(),
            None if compacted => 0,
            None => estimated(),
        };
        let rates = |model: &str| {
            let terms = (self.folding.terms)(turn.request.dialect(), Some(model), false);
            terms.map(|(terms, _)| terms.rates)
        };
        let rounds = turn.pair.as_ref().map_or(0.0, |pair| rounds_usd(pair, answer, rates));
        let mut kept = lock(&self.kept);
        // One that had to go is in the sums of all.
        let mut gone = Bill::default();
        let (bill, journal) = match kept.entries.peek_mut(&turn.id) {
            Some(entry) => (&mut entry.course.bill, entry.path.clone()),
            None => (&mut gone, None),
        };
        let added = bill.add(turn.pair.as_ref(), turn.sent, answer, output, rounds);
        drop(kept);
        self.sums.entry(protocol(Some(turn.request.dialect()))).or_default().add(&added);
        let folded = self.folding.shadow.then_some(turn.sizes);
        let request = identity::end(&turn.keys);
        if self.answers.reported(request, answer, folded, journal.as_deref()).is_err() {
            self.unwritten();
        }
    }

    /// What answers cost, by protocol.
    pub(crate) fn sums(&self) -> BTreeMap<&'static str, Sums> {
        in_order(&self.sums)
    }
}

impl Kept {
    fn find(&self, request: &Request, keys: &[Key], base: usize, frame: Key) -> Option<Id> {
        let answered = answered(request);
        (1..keys.len()).rev().find_map(|seen| {
            let ids = self.tips.get(&keys[seen])?;
            let entries = ids.iter().filter_map(|id| Some((*id, self.entries.peek(id)?)));
            let fits = entries.filter(|(_, entry)| {
                entry.base == base && (entry.frame == frame || answered < seen)
            });
            // The same frame first, then the newest.
            fits.max_by_key(|(id, entry)| (entry.frame == frame, *id)).map(|(id, _)| id)
        })
    }

    fn insert(&mut self, id: Id, followed: Shared, base: usize, path: Option<PathBuf>) {
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
                seen: None,
            },
        );
    }

    fn claim(&mut self, id: Id, tip: Key, frame: Key) -> Shared {
        self.leave_tip(id);
        self.tips.entry(tip).or_default().push(id);
        let entry = self.entries.get_mut(&id).unwrap_or_else(|| unreachable!("found above"));
        (entry.tip, entry.frame) = (tip, frame);
        Arc::clone(&entry.followed)
    }

    /// Notes the bytes of a conversation, with those of what is kept for its page, for its answers and for its next request.
    fn weigh(&mut self, id: Id, bytes: usize) {
        let Some(entry) = self.entries.peek_mut(&id) else { return };
        let seen = entry.seen.as_ref().map_or(0, |seen| seen.bytes());
        let beside = entry.course.bytes() + answers::bytes(entry.course.requests) + seen;
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

    fn remove(&mut self, id: Id) -> Option<Entry> {
        self.leave_tip(id);
        let entry = self.entries.pop(&id)?;
        self.items.forget(id);
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Forgets the oldest conversations until the rest is within the limits. The newest stays. Returns the forgotten ones,
    /// so that they are dropped when nobody waits.
    fn evict(&mut self, conversations: usize, bytes: usize) -> Vec<Entry> {
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
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations").field("folding", &self.folding).finish_non_exhaustive()
    }
}

/// The place of the first answer of the model in a request.
fn answered(request: &Request) -> usize {
    let mut messages = request.messages().iter();
    messages.position(|message| message.role == Role::Assistant).unwrap_or(usize::MAX)
}

fn hashed(frame: &Frame) -> Key {
    let mut hasher = blake3::Hasher::new();
    for segment in frame.segments() {
        hasher.update(&(segment.text.len() as u64).to_le_bytes());
        hasher.update(segment.text.as_bytes());
    }
    hasher.finalize()
}

/// A panic elsewhere must not stop other conversations, and leaves nothing half written behind the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
