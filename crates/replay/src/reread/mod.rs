//! What forgetting costs: a replay in which what is missed is read again.
//!
//! A replay shows what a call needed and its view lacked: the old text of an edit, or a piece of a result that the call repeats word
//! for word. A real agent would have read it again. [`replay_again`] puts that read into the log before the call: one more
//! request, which is the view as it is; an answer that asks for the read; and its result. The strategy goes on from there, so
//! what was read again is in view again, makes the view larger, may cause the next fold, and may be lost again.
//!
//! - A miss is read again with a chance that recordings show ([`CHANCE`]). The draw of a miss depends on the session, the call and
//!   the text, so it is the same under every strategy, and a larger chance reads all that a smaller one reads.
//! - It is read from the latest tool result of the log that held it. A read brings back all that the call misses of that result, and no
//!   result is read twice before one call. Where no tool result held it, nothing is read.
//! - The result is as it was recorded, or if it is long, the lines around what is needed ([`excerpt`]).
//! - The answer puts out what the answer put out that made the recorded read, in equal parts for each of its calls.
//!
//! Names are not counted as missed. Notes that keep a name and lose what stood beside it would look better than they are.

mod chance;
pub(crate) mod excerpt;
mod sources;
#[cfg(test)]
mod tests;

pub use chance::{CHANCE, Chance};
pub(crate) use sources::{RepeatedRead, Sources};

use crate::drive::{Driver, Probe, Replay, ReplayOptions, Request, block_on};
use crate::index::{Texts, Tracker};
use crate::measures::{Firing, Firings};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use std::collections::HashMap;
use std::sync::Arc;

/// A replay in which what is missed is read again.
#[derive(Debug)]
pub(crate) struct ReplayAgain {
    /// The replay. It has a row for each request, those of the reads included.
    pub(crate) replay: Replay,
    /// Every change of its view.
    pub(crate) firings: Vec<Firing>,
    /// Every read: the recorded call before which it was made, and the tokens of its result.
    pub(crate) reads: Vec<(usize, u64)>,
}

/// The replays that branch off one in which nothing is read again. With a chance, all is the same up to the first call that misses
/// something which is read again with it, so the replay is copied there and goes on by itself.
#[derive(Clone, Debug)]
pub(crate) struct Branches<'s> {
    sources: Arc<Sources>,
    /// By chance, what was copied.
    begun: Vec<(f64, Option<Box<Driver<'s>>>)>,
    texts: Texts,
}

impl<'s> Branches<'s> {
    /// Those that begin before a call.
    pub(crate) fn begun_by(
        &mut self,
        tracker: &Tracker,
        call: usize,
    ) -> impl Iterator<Item = &mut Option<Box<Driver<'s>>>> {
        let waits = self.begun.iter().any(|(_, begun)| begun.is_none());
        let draw = waits.then(|| self.sources.least_draw(tracker, call)).flatten();
        let waiting = self.begun.iter_mut().filter(|(_, begun)| begun.is_none());
        let read = waiting.filter(move |(chance, _)| draw.is_some_and(|draw| draw < *chance));
        read.map(|(_, begun)| begun)
    }

    /// Goes on with the one of a chance; `None` where nothing is read again with it. `firings` are those of the replay that it
    /// branched off.
    pub(crate) fn go_on(
        &mut self,
        chance: f64,
        options: &'s ReplayOptions,
        firings: &[Firing],
    ) -> Option<ReplayAgain> {
        let mut begun = self.begun.iter_mut().filter(|(of, _)| *of == chance);
        let mut driver = *begun.find_map(|(_, begun)| begun.take())?;
        let mut tracker = driver.tracker.take()?.without_names();
        std::mem::swap(tracker.texts_mut(), &mut self.texts);
        (driver.tracker, driver.options) = (Some(tracker), options);
        let (again, texts) = read_on(driver, &self.sources, chance, firings);
        self.texts = texts;
        Some(again)
    }
}

/// Replays a session under a strategy while probes look on, with a branch for each chance.
pub(crate) fn replay_and_branch<'s>(
    session: &'s Session,
    sources: &Arc<Sources>,
    strategy: &Arc<Strategy>,
    options: &'s ReplayOptions,
    chances: &[f64],
    probes: &mut [&mut dyn Probe],
) -> (Replay, Branches<'s>) {
    let tracker = Tracker::new(Arc::clone(sources.index()));
    let mut driver = Driver::new(session, strategy, options, Some(tracker));
    let begun = chances.iter().map(|chance| (*chance, None)).collect();
    let texts = Texts::default();
    let mut branches = Branches { sources: Arc::clone(sources), begun, texts };
    driver.branches = Some(branches.clone());
    block_on(options, driver.run(probes));
    if let Some(made) = driver.branches.take() {
        branches = made;
    }
    if let Some(mut tracker) = driver.tracker.take() {
        std::mem::swap(tracker.texts_mut(), &mut branches.texts);
    }
    (driver.finish(), branches)
}

/// Runs a replay to its end and reads again what is missed with a chance; what it gave, and its texts. `firings` are those up to
/// where it is, and others behind.
fn read_on(
    mut driver: Driver<'_>,
    sources: &Arc<Sources>,
    chance: f64,
    firings: &[Firing],
) -> (ReplayAgain, Texts) {
    let from = driver.rows.len();
    let mut firings: Vec<Firing> =
        firings.iter().take_while(|firing| firing.call < from).cloned().collect();
    driver.reader = Some(Reader::new(sources, chance));
    let mut changes = Changes(driver.firings());
    block_on(driver.options, driver.run(&mut [&mut changes]));
    firings.extend(changes.0.finish());
    let reads = driver.reader.take().map(|reader| reader.reads).unwrap_or_default();
    let texts = driver.tracker.take().map(|mut tracker| std::mem::take(tracker.texts_mut()));
    (ReplayAgain { replay: driver.finish(), firings, reads }, texts.unwrap_or_default())
}

/// Notes the changes of the view, for the bill.
#[derive(Debug)]
struct Changes(Firings);

impl Changes {
    fn look(&mut self, request: &Request<'_>) {
        let folds = &request.conversation.folds()[request.delta.folds.clone()];
        let written = self.0.written(request, folds);
        self.0.look(request, folds, &written);
    }
}

impl Probe for Changes {
    fn call(&mut self, request: &Request<'_>) {
        self.look(request);
    }

    fn end(&mut self, request: &Request<'_>) {
        self.look(request);
    }
}

/// Finds out what the view lacks and reads it again.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    sources: Arc<Sources>,
    chance: f64,
    /// How often each excerpt was read.
    times: HashMap<sources::Excerpt, usize>,
    /// What was read before the call that comes next.
    done: Vec<sources::Excerpt>,
    reads: Vec<(usize, u64)>,
}

impl Reader {
    fn new(sources: &Arc<Sources>, chance: f64) -> Self {
        Self {
            sources: Arc::clone(sources),
            chance,
            times: HashMap::new(),
            done: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// What is read next before a call, if anything is.
    pub(crate) fn next(&mut self, tracker: &Tracker, call: usize) -> Option<Arc<RepeatedRead>> {
        let done = &self.done;
        let not_yet = |source| done.iter().all(|excerpt| excerpt.source != source);
        let Some(excerpt) = self.sources.next(tracker, call, self.chance, not_yet) else {
            self.done.clear();
            return None;
        };
        let times = self.times.entry(excerpt.clone()).or_insert(0);
        *times += 1;
        let read = self.sources.read(&excerpt, *times);
        self.done.push(excerpt);
        self.reads.push((call, read.tokens));
        Some(read)
    }
}
