//! A second replay of a session, in which what is missed is read again (see [`crate::judge::reread`]).

#[cfg(test)]
mod tests;

use crate::judge::measures::{Firing, Firings};
use crate::judge::request::{Probe, Request};
use crate::judge::reread::{Reader, Sources};
use crate::read::index::Texts;
use crate::run::drive::{Driver, Replay, ReplayOptions, block_on};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use std::sync::Arc;

/// A replay in which what is missed is read again.
#[derive(Debug)]
pub(crate) struct ReplayAgain {
    /// The replay. It has a row for each request, those of the reads included.
    pub(crate) replay: Replay,
    /// Every change of its view.
    pub(crate) firings: Vec<Firing>,
    /// The texts that its compactions wrote.
    pub(crate) texts: Texts,
    /// Every read: the recorded call before which it was made, and the tokens of its result.
    pub(crate) reads: Vec<(usize, u64)>,
}

/// Replays a session under a strategy, and reads again what is missed with a chance. `texts` are those of another replay.
pub(crate) fn replay_again(
    session: &Session,
    sources: &Arc<Sources>,
    texts: Texts,
    chance: f64,
    strategy: &Arc<Strategy>,
    options: &ReplayOptions,
) -> ReplayAgain {
    let mut driver = Driver::new(session, strategy, options, None);
    driver.reader = Some(Reader::new(sources, texts, chance));
    let mut changes = Changes::default();
    block_on(options, driver.run(session, &mut [&mut changes]));
    let reader = driver.reader.take();
    let (texts, reads) =
        reader.map(|reader| (reader.tracker.into_texts(), reader.reads)).unwrap_or_default();
    ReplayAgain { replay: driver.finish(), firings: changes.0.finish(), texts, reads }
}

/// Notes the changes of the view, for the bill.
#[derive(Debug, Default)]
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
