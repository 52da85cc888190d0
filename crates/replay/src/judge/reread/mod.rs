//! What forgetting costs: a replay in which what is missed is read again.
//!
//! A replay shows what a call needed and its view lacked: the old text of an edit, or a piece of a result that the call repeats word
//! for word. A real agent would have read it again. [Another replay](crate::run::again) puts that read into the log before the call: one more
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

use crate::read::index::{LogPart, RepeatedRead, Tracker};
use foldback_core::view::{Pos, View};
use std::collections::HashMap;
use std::sync::Arc;

/// Finds out what the view lacks and reads it again.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    sources: Arc<Sources>,
    chance: f64,
    /// How often each excerpt was read.
    times: HashMap<sources::Excerpt, usize>,
    /// The sources that were read before the call that comes next, each with the place of its result.
    done: Vec<(LogPart, Pos)>,
    /// Every read: the recorded call before which it was made, and the tokens of its result.
    pub(crate) reads: Vec<(usize, u64)>,
}

impl Reader {
    pub(crate) fn new(sources: &Arc<Sources>, chance: f64) -> Self {
        Self {
            sources: Arc::clone(sources),
            chance,
            times: HashMap::new(),
            done: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// What is read next before a call, if anything is.
    pub(crate) fn next(
        &mut self,
        tracker: &Tracker,
        view: &View,
        call: usize,
    ) -> Option<Arc<RepeatedRead>> {
        let done = &self.done;
        let wanted = |source| {
            let mut reads = done.iter().filter(|(read, _)| *read == source);
            match (reads.next(), reads.next()) {
                (None, _) => true,
                (Some((_, at)), None) => !view.is_visible(*at) || view.has_edit(*at),
                _ => false,
            }
        };
        let Some(excerpt) = self.sources.next(tracker, call, self.chance, wanted) else {
            self.done.clear();
            return None;
        };
        let times = self.times.entry(excerpt.clone()).or_insert(0);
        *times += 1;
        let read = self.sources.read(&excerpt, *times);
        self.reads.push((call, read.tokens));
        Some(read)
    }

    /// The result of a read stands in the conversation.
    pub(crate) fn placed(&mut self, read: &RepeatedRead, result: Pos) {
        self.done.push((read.source, result));
    }
}

/// Readers that have not read anything yet.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    sources: Arc<Sources>,
    chances: Vec<f64>,
}

impl Readers {
    /// A reader for each chance.
    pub(crate) fn new(sources: &Arc<Sources>, chances: &[f64]) -> Self {
        Self { sources: Arc::clone(sources), chances: chances.to_vec() }
    }

    /// The readers that read something before a call.
    pub(crate) fn due(&mut self, tracker: &Tracker, call: usize) -> Vec<Reader> {
        if self.chances.is_empty() {
            return Vec::new();
        }
        let Some(least) = self.sources.least_draw(tracker, call) else { return Vec::new() };
        let due = self.chances.extract_if(.., |chance| least < *chance);
        due.map(|chance| Reader::new(&self.sources, chance)).collect()
    }
}
