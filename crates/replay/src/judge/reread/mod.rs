//! What forgetting costs: a replay in which what is missed is read again.
//!
//! A replay shows what a call needed and its view lacked: the old text of an edit, or a piece of a result that the call repeats word
//! for word. A real agent would have read it again. [`replay_again`](crate::run::again) puts that read into the log before the call: one more
//! request, which is the view as it is; an answer that asks for the read; and its result. The strategy goes on from there, so
//! what was read again is in view again, makes the view larger, may cause the next fold, and may be lost again.
//!
//! - A miss is read again with a chance that recordings show ([`CHANCE`]). The draw of a miss depends on the session, the call and
//!   the text, so it is the same under every strategy, and a larger chance reads all that a smaller one reads.
//! - It is read from the latest tool result of the log that held it. A result that was asked for comes before one that shows it beside
//!   what a search found, and that before the answer to an edit. A read brings back all that the call misses of that result. It is
//!   made once before a call, and once more if the preset compacted what it brought back before the call went out. Where no tool
//!   result held it, nothing is read.
//! - The result is as it was recorded, or if it is long, the lines around what is needed ([`excerpt`]).
//! - The answer puts out what the answer put out that made the recorded read, in equal parts for each of its calls.
//!
//! Names are not counted as missed. Notes that keep a name and lose what stood beside it would look better than they are.

mod chance;
pub(crate) mod excerpt;
mod sources;

pub(crate) use chance::CHANCE;
pub(crate) use chance::Chance;
pub(crate) use sources::Sources;

use crate::read::index::{LogPart, RepeatedRead, Texts, Tracker};
use foldback_core::conversation::Conversation;
use foldback_core::delta::Cursor;
use foldback_core::view::Pos;
use std::collections::HashMap;
use std::sync::Arc;

/// Finds out what the view lacks and reads it again.
#[derive(Debug)]
pub(crate) struct Reader {
    sources: Arc<Sources>,
    chance: f64,
    pub(crate) tracker: Tracker,
    /// Up to where the tracker has followed the conversation.
    looked: Cursor,
    /// How often each excerpt was read.
    times: HashMap<sources::Excerpt, usize>,
    /// The sources that were read before the call that comes next, each with the place of its result.
    done: Vec<(LogPart, Pos)>,
    /// Every read: the recorded call before which it was made, and the tokens of its result.
    pub(crate) reads: Vec<(usize, u64)>,
}

impl Reader {
    pub(crate) fn new(sources: &Arc<Sources>, texts: Texts, chance: f64) -> Self {
        Self {
            tracker: Tracker::of_texts(Arc::clone(sources.index()), texts),
            sources: Arc::clone(sources),
            chance,
            looked: Cursor::default(),
            times: HashMap::new(),
            done: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// What is read next before a call, if anything is.
    pub(crate) fn next(
        &mut self,
        conversation: &Conversation,
        call: usize,
    ) -> Option<Arc<RepeatedRead>> {
        if !self.sources.asks(call) {
            return None;
        }
        let delta = conversation.delta(&mut self.looked);
        self.tracker.update(conversation, &delta, call);
        let (done, view) = (&self.done, conversation.view());
        let wanted = |source| {
            let mut reads = done.iter().filter(|(read, _)| *read == source);
            match (reads.next(), reads.next()) {
                (None, _) => true,
                (Some((_, at)), None) => !view.is_visible(*at) || view.has_edit(*at),
                _ => false,
            }
        };
        let Some(excerpt) = self.sources.next(&self.tracker, call, self.chance, wanted) else {
            self.done.clear();
            return None;
        };
        let times = self.times.entry(excerpt.clone()).or_insert(0);
        *times += 1;
        let read = self.sources.read(&excerpt, *times);
        self.reads.push((call, read.tokens));
        Some(read)
    }

    /// A read stands in the conversation: its call and its result.
    pub(crate) fn placed(&mut self, read: &Arc<RepeatedRead>, answer: Pos, result: Pos) {
        self.done.push((read.source, result));
        self.tracker.place_read(read, answer, result);
    }
}
