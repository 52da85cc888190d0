//! Replays of a session in which what is missed is read again (see [`crate::judge::reread`]). Up to the call that is the first to
//! read something they are the replay in which nothing is, so they part from it there.

#[cfg(test)]
mod tests;

use crate::judge::request::Probe;
use crate::judge::reread::{Readers, Sources};
use crate::read::index::{Texts, Tracker};
use crate::run::drive::{Driver, Replay, ReplayOptions, block_on};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use std::sync::Arc;

/// A replay in which what is missed is read again.
#[derive(Debug)]
pub(crate) struct ReplayAgain {
    /// The replay. It has a row for each request, those of the reads included.
    pub(crate) replay: Replay,
    /// Every read: the recorded call before which it was made, and the tokens of its result.
    pub(crate) reads: Vec<(usize, u64)>,
}

impl ReplayAgain {
    fn new(mut driver: Driver<'_>) -> Self {
        let reads = driver.reader.take().map(|reader| reader.reads).unwrap_or_default();
        Self { replay: driver.finish(), reads }
    }
}

/// Replays a session under a strategy, and then with each of these chances, the greatest first, that what is missed is read again. With
/// a chance with which nothing would be read there is no other replay.
pub(crate) fn replay_and_read_again<'s>(
    session: &'s Session,
    sources: &Arc<Sources>,
    chances: &[f64],
    strategy: &Arc<Strategy>,
    options: &'s ReplayOptions,
    probes: &mut [&mut dyn Probe],
) -> (Replay, impl Iterator<Item = ReplayAgain> + use<'s>) {
    let tracker = Tracker::new(Arc::clone(sources.index()));
    let mut driver = Driver::new(session, strategy, options, Some(tracker));
    driver.readers = Some(Readers::new(sources, chances));
    block_on(options, driver.run(probes));
    let parted = std::mem::take(&mut driver.parted);
    // What compactions wrote is read once for all.
    let mut texts = Texts::default();
    exchange(&mut driver, &mut texts);
    let again = parted.into_iter().map(move |mut driver| {
        exchange(&mut driver, &mut texts);
        block_on(options, driver.run(&mut []));
        exchange(&mut driver, &mut texts);
        ReplayAgain::new(driver)
    });
    (driver.finish(), again)
}

/// Exchanges the texts that a driver has read.
fn exchange(driver: &mut Driver<'_>, texts: &mut Texts) {
    if let Some(tracker) = &mut driver.tracker {
        std::mem::swap(tracker.texts(), texts);
    }
}
