//! The conversations that are followed: which one a request continues, and how many are kept.
//!
//! A request continues the conversation whose last [key](foldback_live::follow::identity) is among its own, the
//! longest first. It must have the same frame, unless it repeats an answer of the model: two sub-agents may begin with
//! the same words, and no two conversations go on with the same answers by chance. Whatever branches off in the middle
//! (a fork, an edited message, the second of two clients) is a conversation of its own, followed from its beginning,
//! and takes nothing from the one that it left.

mod answers;
mod items;
pub(crate) mod journals;
mod observer;
mod shelf;
pub(crate) mod state;
mod table;

use super::Id;
use super::prefix::{self, Prefix, PrefixMatch};
use super::threads::Threads;
use super::windows::{Windows, narrowed};
use crate::bill::course::Course;
use crate::bill::requests::{Dispatch, Pair};
use crate::bill::{Bill, Sums, rounds_usd};
use crate::folding::Folding;
use crate::numbers::in_order;
use crate::outcome::protocol;
use crate::settings::Say;
use answers::Answers;
use dashmap::DashMap;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part};
use foldback_core::meter::Meter;
use foldback_core::services::Services;
use foldback_core::{Frame, Limits};
use foldback_live::Metrics;
use foldback_live::follow::identity::{self, Key};
use foldback_live::follow::{Followed, Sizes, base_of, frame_of};
use foldback_providers::wire::{Dialect, Request};
use journals::{JournalName, JournalsError};
use observer::ConversationObserver;
use shelf::Shelved;
use state::{SharedState, State};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use table::{Table, answered};

/// The conversations that are followed.
pub(crate) struct Conversations {
    pub(crate) folding: Folding,
    pub(crate) metrics: Arc<Metrics>,
    table: Mutex<Table>,
    /// Wakes the requests that wait for a journal to be read.
    journal_read: Condvar,
    pub(crate) answers: Answers,
    /// What the answers of all conversations cost, by protocol, forgotten conversations included.
    sums: DashMap<&'static str, Sums>,
    unwritten: AtomicU64,
    /// Whether it was said that a client leaves its conversation, or items of it, with its provider.
    said_elsewhere: [AtomicBool; 2],
    windows: Windows,
    say: Say,
    pub(crate) threads: Arc<Threads>,
}

/// A request whose answer is there.
pub(crate) struct AnsweredRequest<'a> {
    pub(crate) id: Id,
    pub(crate) dialect: Dialect,
    /// The key after its last message.
    pub(crate) key: Key,
    pub(crate) sizes: Sizes,
    pub(crate) pair: Option<&'a Pair>,
    pub(crate) sent: Dispatch,
}

impl Conversations {
    /// No conversations, or those of the folder of journals.
    pub(crate) fn new(
        folding: Folding,
        say: Say,
        threads: Arc<Threads>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, JournalsError> {
        let most = NonZeroUsize::new(folding.max_conversations).unwrap_or(NonZeroUsize::MIN);
        let new = Self {
            table: Mutex::new(Table::new(folding.max_journals)),
            journal_read: Condvar::new(),
            windows: Windows::new(folding.journal.as_deref()),
            folding,
            metrics,
            answers: Answers::new(most),
            sums: DashMap::new(),
            unwritten: AtomicU64::default(),
            said_elsewhere: Default::default(),
            say,
            threads,
        };
        if let Some(folder) = &new.folding.journal {
            new.restore(folder)?;
        }
        Ok(new)
    }

    /// Reads the conversations of a folder.
    fn restore(&self, folder: &Path) -> Result<(), JournalsError> {
        let all = journals::all(folder)?;
        let label = self.folding.strategy.label();
        if let Some(before) = journals::written_by(folder, &label)
            && !all.is_empty()
        {
            (self.say)(&format!(
                "{}: {before} folded these conversations until now; {label} goes on with them",
                folder.display()
            ));
        }
        // The latest, as many as fit; the others stay where they are.
        let (left, latest) = all.split_at(all.len().saturating_sub(self.folding.max_conversations));
        let mut table = lock(&self.table);
        left.iter().for_each(|journal| table.shelf.put(journal.path(folder), None));
        table.next = all.iter().map(|journal| journal.id + 1).fold(table.next, Id::max);
        drop(table);
        for journal in latest {
            let path = journal.path(folder);
            let followed = self.read_journal(journal, &path)?;
            let mut table = lock(&self.table);
            table.restored(journal, path, followed);
            let gone = table.evict(self.folding.max_conversations, self.folding.max_bytes);
            drop(table);
            drop(gone);
        }
        Ok(())
    }

    /// A conversation as its journal has it, with what its provider said.
    fn read_journal(&self, journal: &JournalName, path: &Path) -> Result<Followed, JournalsError> {
        let empty = self.empty(journal.id, Frame::default(), Limits::default());
        let followed = Followed::restored(empty, journal.base, journal.key, path)?;
        self.answers.restore(path);
        Ok(self.asking(followed))
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
    pub(crate) fn find_or_begin(
        &self,
        request: &Request,
        keys: &[Key],
        limits: Limits,
    ) -> (Id, SharedState) {
        let base = base_of(request.messages());
        let frame = frame_of(request.frame(), request.messages(), base);
        let framed = hashed(&frame);
        let tip = identity::end(keys);
        let mut table = lock(&self.table);
        let found = loop {
            if let Some(id) = table.find(request, keys, base, framed) {
                break Some(id);
            }
            match table.shelf.take(keys, base, answered(request)) {
                Some(Shelved::Journal(journal, path, tip)) => {
                    // Other conversations go on while it is read.
                    drop(table);
                    let id = self.bring_back(&journal, path, tip);
                    table = lock(&self.table);
                    if let Some(id) = id.filter(|id| table.entries.contains(id)) {
                        break Some(id);
                    }
                }
                Some(Shelved::BeingRead) => {
                    table = self.journal_read.wait(table).unwrap_or_else(PoisonError::into_inner);
                }
                None => break None,
            }
        };
        let id = found.unwrap_or_else(|| {
            let id = table.next;
            table.next += 1;
            let journal = JournalName { dialect: request.dialect(), base, key: keys[base], id };
            let path = self.folding.journal.as_ref().map(|folder| journal.path(folder));
            let followed = Followed::new(self.empty(id, frame, limits), base, keys[base]);
            let followed = self.asking(followed.written_to(path.clone()));
            table.insert(id, State::new(followed), base, path);
            id
        });
        let followed = table.claim(id, tip, framed);
        let gone = table.evict(self.folding.max_conversations, self.folding.max_bytes);
        drop(table);
        drop(gone);
        (id, followed)
    }

    /// Reads a conversation that had to go back into memory. Requests that continue it wait meanwhile.
    fn bring_back(&self, journal: &JournalName, path: PathBuf, tip: Key) -> Option<Id> {
        let _reading = Reading { conversations: self, tip, base: journal.base };
        let read = self.read_journal(journal, &path);
        let mut table = lock(&self.table);
        match read {
            Ok(followed) => {
                table.restored(journal, path, followed);
                Some(journal.id)
            }
            Err(_) => {
                // A request of it may still be under way, from before it had to go.
                table.shelf.put(path, None);
                None
            }
        }
    }

    /// The latest requests that a body may begin with.
    fn prefixes(&self, body: &[u8]) -> Vec<Arc<Prefix>> {
        let table = lock(&self.table);
        let prefixes = table.entries.iter().filter_map(|(_, entry)| entry.prefix.as_ref());
        prefixes.filter(|prefix| prefix.may_begin(body)).map(Arc::clone).collect()
    }

    /// The longest of the latest requests that a body begins with. It is taken out: what was read of it moves to the new
    /// request without a copy.
    pub(crate) fn take_prefix(&self, body: &[u8]) -> Option<PrefixMatch> {
        let longest = prefix::longest(body, self.prefixes(body))?;
        let mut table = lock(&self.table);
        let mut entries = table.entries.iter_mut().map(|(_, entry)| &mut entry.prefix);
        let is_it = |prefix: &Arc<Prefix>| Arc::ptr_eq(prefix, &longest.prefix);
        if let Some(prefix) = entries.find(|prefix| prefix.as_ref().is_some_and(is_it)) {
            *prefix = None;
        }
        Some(longest)
    }

    /// Keeps what was read of the latest request of a conversation.
    pub(crate) fn keep_prefix(&self, id: Id, prefix: Option<Prefix>) {
        if let Some(entry) = lock(&self.table).entries.peek_mut(&id) {
            entry.prefix = prefix.map(Arc::new);
        }
    }

    /// A new engine.
    fn empty(&self, id: Id, frame: Frame, limits: Limits) -> Conversation {
        let (metrics, say) = (Arc::clone(&self.metrics), Arc::clone(&self.say));
        let services = Services::with_clock(Arc::clone(&self.folding.clock))
            .with_observer(Arc::new(ConversationObserver { id, metrics, say }));
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
        let gone = lock(&self.table).remove(id);
        if let Some(path) = gone.and_then(|entry| entry.path) {
            journals::delete(&path);
        }
    }

    /// Adds a request to the course of its conversation, which now takes so many bytes in memory. If all conversations
    /// take too many, the oldest are forgotten.
    pub(crate) fn note(&self, id: Id, request: &Request, state: &mut State) {
        let State { followed, requests, .. } = state;
        let mut table = lock(&self.table);
        if let Some(entry) = table.entries.peek_mut(&id) {
            entry.course.add(request, followed.sizes());
            table.weigh(id, followed.bytes() + requests.bytes());
            let gone = table.evict(self.folding.max_conversations, self.folding.max_bytes);
            drop(table);
            drop(gone);
        }
    }

    /// The courses of so many conversations, those with the latest requests first.
    pub(crate) fn courses(&self, most: usize) -> Vec<(Id, Course)> {
        let table = lock(&self.table);
        let used = table.entries.iter().filter(|(_, entry)| entry.course.requests > 0);
        used.take(most).map(|(id, entry)| (*id, entry.course.clone())).collect()
    }

    /// Number of kept conversations, their bytes, and the number of forgotten ones.
    pub(crate) fn count(&self) -> (u64, u64, u64) {
        let table = lock(&self.table);
        (table.entries.len() as u64, table.bytes as u64, table.evicted)
    }

    /// Remembers what a provider said of its answer to a request of a conversation, and adds what both cost. Gives what was added.
    pub(crate) fn answered(&self, request: &AnsweredRequest<'_>, answer: &Message) -> Sums {
        let estimated =
            || Meter::new(Arc::clone(self.folding.strategy.estimator())).measure(answer);
        let reported = answer.answer.as_ref().and_then(|answer| answer.usage);
        let reported = reported.filter(|usage| !usage.is_zero());
        // An answer that is a compaction and nothing else has none.
        let compacted = answer.parts.iter().all(Part::is_compaction);
        let output = match reported {
            Some(usage) => usage.output_total(),
            None if compacted => 0,
            None => estimated(),
        };
        let rates = |model: &str| {
            let terms = (self.folding.terms)(request.dialect, Some(model), false);
            terms.map(|(terms, _)| terms.rates)
        };
        let rounds = request.pair.map_or(0.0, |pair| rounds_usd(pair, answer, rates));
        let mut table = lock(&self.table);
        // One that had to go is in the sums of all.
        let mut gone = Bill::default();
        let (bill, journal) = match table.entries.peek_mut(&request.id) {
            Some(entry) => (&mut entry.course.bill, entry.path.clone()),
            None => (&mut gone, None),
        };
        let added = bill.add(request.pair, request.sent, answer, output, rounds);
        drop(table);
        *self.sums.entry(protocol(Some(request.dialect))).or_default() += added;
        let folded = self.folding.shadow.then_some(request.sizes);
        if self.answers.reported(request.key, answer, folded, journal.as_deref()).is_err() {
            self.unwritten();
        }
        added
    }

    /// The text of an item of an answer.
    pub(crate) fn item(&self, id: &str) -> Option<Arc<str>> {
        lock(&self.table).items.get(id)
    }

    /// Keeps the items of an answer, by their ids, unless its conversation had to go.
    pub(crate) fn keep_items(&self, conversation: Id, items: Vec<(String, String)>) {
        if items.is_empty() {
            return;
        }
        let mut table = lock(&self.table);
        if table.entries.contains(&conversation) {
            items.into_iter().for_each(|(id, text)| table.items.keep(conversation, id, text));
        }
    }

    /// Says once that a client leaves part of its conversation with its provider, and what it may do. `pointer` is the
    /// place in its request.
    pub(crate) fn kept_elsewhere(&self, pointer: &str) {
        let member = pointer.trim_start_matches('/');
        let is_item = member.starts_with("input");
        if self.said_elsewhere[usize::from(is_item)].swap(true, Ordering::Relaxed) {
            return;
        }
        let line = if is_item {
            "a client refers to items that its provider keeps (`item_reference`) and that did not come through this proxy \
             since it started, or came under an id of others; such requests go through as they are and are not folded. Have \
             the client send its items whole: `store: false`, in the AI SDK `providerOptions: { openai: { store: false } }`"
                .to_owned()
        } else {
            format!(
                "a client leaves part of its conversation with its provider (`{member}`); such requests go through as they are \
                 and are not folded. Have the client send the whole conversation, without `{member}`"
            )
        };
        (self.say)(&line);
    }

    /// The limits of a model: those of its provider where a refusal named its window, if it is smaller.
    pub(crate) fn limits(&self, model: Option<&str>) -> Option<Limits> {
        Some(self.windows.within(model, (self.folding.limits)(model)?))
    }

    /// Folds requests of a model for the window that its provider named from now on, and says so once. A window in which the
    /// strategy can't work is left alone.
    pub(crate) fn learn_window(&self, model: Option<&str>, tokens: u64) {
        let Some((model, limits)) = model.zip((self.folding.limits)(model)) else { return };
        let narrowed = narrowed(limits, tokens);
        if narrowed == limits || self.folding.strategy.refuses(narrowed).is_some() {
            return;
        }
        if self.windows.learn(model, tokens) {
            (self.say)(&format!(
                "the provider of {model} takes {tokens} tokens, as it says; requests are folded for that window from now on \
                 (--window {tokens} says so from the start)"
            ));
        }
    }

    /// What answers cost, by protocol.
    pub(crate) fn sums(&self) -> BTreeMap<&'static str, Sums> {
        in_order(&self.sums)
    }
}

/// A journal that is being read. However that ends, those who wait for it go on.
struct Reading<'a> {
    conversations: &'a Conversations,
    tip: Key,
    base: usize,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        lock(&self.conversations.table).shelf.was_read(self.tip, self.base);
        self.conversations.journal_read.notify_all();
    }
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations").field("folding", &self.folding).finish_non_exhaustive()
    }
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
