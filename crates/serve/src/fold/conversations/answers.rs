//! Usage and stop reasons that providers reported with their answers. No client sends them back.
//!
//! With a journal, each is on disk beside the journal of its conversation before the client has the end of the answer:
//! after a restart a strategy that goes by usage folds where it would have folded.

use super::journals;
use foldback_core::log::{Answer, Message};
use foldback_live::follow::Sizes;
use foldback_live::follow::identity::{self, Key};
use lru::LruCache;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers of providers that are remembered for each conversation that is kept.
const EACH: usize = 64;

/// Most answers to one request that are remembered.
const SAME: usize = 8;

/// Bytes of the answers to so many requests of a conversation, with their places in the map.
pub(crate) fn bytes(requests: u64) -> usize {
    usize::try_from(requests).unwrap_or(EACH).min(EACH) * (size_of::<Reported>() + 200)
}

/// The latest answers, by the last key of their request.
pub(crate) struct Answers(Mutex<LruCache<Key, Vec<Reported>>>);

/// What a provider reported with an answer.
#[derive(Clone, Debug)]
struct Reported {
    said: Key,
    answer: Answer,
}

/// An answer on disk, one a line: the request's key, what was said, the answer.
type Line = (String, String, Answer);

impl Answers {
    /// No answers yet, and room for those of so many conversations.
    pub(crate) fn new(conversations: NonZeroUsize) -> Self {
        let each = NonZeroUsize::new(EACH).unwrap_or(NonZeroUsize::MIN);
        Self(Mutex::new(LruCache::new(conversations.saturating_mul(each))))
    }

    /// Remembers what a provider said of its answer to a request that ended with this key. `folded` are the sizes of a
    /// request that was sent as it came, though it would have been folded. `journal` is the conversation's.
    ///
    /// # Errors
    ///
    /// The answer can't be written beside the journal. It is still remembered.
    pub(crate) fn reported(
        &self,
        request: Key,
        message: &Message,
        folded: Option<Sizes>,
        journal: Option<&Path>,
    ) -> io::Result<()> {
        let Some(answer) = &message.answer else { return Ok(()) };
        let mut answer = Answer {
            usage: answer.usage,
            finish: answer.finish,
            web_searches: answer.web_searches,
            ..Answer::default()
        };
        if let (Some(sizes), Some(usage)) = (folded, &mut answer.usage) {
            // The provider counted the whole request. The strategy goes by the folded one.
            let mut less = sizes.received.saturating_sub(sizes.sent);
            for class in [&mut usage.uncached, &mut usage.cache_write, &mut usage.cache_read] {
                let taken = less.min(*class);
                *class -= taken;
                less -= taken;
            }
            usage.cache_write_1h = usage.cache_write_1h.min(usage.cache_write);
            usage.total = None;
        }
        let reported = Reported { said: identity::said(message), answer };
        let written = journal.map_or(Ok(()), |journal| write(journal, request, &reported));
        self.remember(request, reported);
        written
    }

    fn remember(&self, request: Key, reported: Reported) {
        let mut answers = self.lock();
        // Nearly always there is one answer to a request.
        let of_it = answers.get_or_insert_mut(request, || Vec::with_capacity(1));
        of_it.retain(|other| other.said != reported.said);
        if of_it.len() == SAME {
            of_it.remove(0);
        }
        of_it.push(reported);
    }

    /// What the provider said of an answer that a client sends back.
    pub(crate) fn answer(&self, request: &Key, echo: &Message) -> Option<Answer> {
        let mut answers = self.lock();
        let reported = answers.get(request)?;
        let said = identity::said(echo);
        let same = reported.iter().find(|one| one.said == said);
        // A client may change the spelling of a text; with one answer there is no other that it could be.
        let only = || reported.first().filter(|_| reported.len() == 1);
        same.or_else(only).map(|one| one.answer.clone())
    }

    /// Remembers the answers beside a journal. An unfinished line is ignored.
    pub(crate) fn restore(&self, journal: &Path) {
        let Some(bytes) = journals::read(&journals::answers(journal)) else { return };
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok((request, said, answer)) = serde_json::from_slice::<Line>(line) else {
                continue;
            };
            if let (Ok(request), Ok(said)) = (Key::from_hex(request), Key::from_hex(said)) {
                self.remember(request, Reported { said, answer });
            }
        }
    }

    /// A panic of another thread leaves nothing half written behind the lock.
    fn lock(&self) -> MutexGuard<'_, LruCache<Key, Vec<Reported>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(journal: &Path, request: Key, reported: &Reported) -> io::Result<()> {
    let line: Line = (request.to_string(), reported.said.to_string(), reported.answer.clone());
    // A line that was not finished ends where the next begins.
    let line = format!("\n{}\n", serde_json::to_string(&line)?);
    let path = journals::answers(journal);
    if !journals::is_writable(&path) {
        return Err(io::Error::other("is no plain file"));
    }
    let file = journals::private(OpenOptions::new().append(true).create(true)).open(path);
    file?.write_all(line.as_bytes())
}
