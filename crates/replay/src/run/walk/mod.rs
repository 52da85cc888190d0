//! A session walked call by call under several presets: what each request showed of every message, what
//! changed since the request before, and what the call needed that its view no longer had.
//!
//! A [`Walk`] is what a reader needs and no more: excerpts instead of texts, changes instead of states. It
//! holds neither the session nor a conversation, so a report over many sessions can keep the walks of some.
//!
//! - Everything that no preset can change is stored once: [`Line`]s, [`Call`]s, [`Need`]s.
//! - Everything that a preset does is in its [`Track`]: sizes, [`TrackFiring`]s, [`ViewStep`]s, [`Forgotten`]s.
//!
//! Messages go by their ordinal in the log, calls by their number; both count from 0. Tokens are by the
//! measuring estimator unless a field says otherwise.

mod firings;
mod log;
mod needs;
mod repeated;
#[cfg(test)]
mod tests;
mod tracer;
mod track;
mod worst;

pub use firings::TrackFiring;
pub use log::{Call, Detail, Line};
pub use needs::NeedSource;
pub use needs::{Need, NeedKind};
pub use repeated::GENERATIONS;
pub use repeated::Repeated;
pub use track::{Forgotten, MessageChange, State, Track, ViewStep, WrittenMessage};
pub use worst::{Missed, worst};

use crate::fault::{FailedReplay, REPORT, caught};
use crate::parallel::in_parallel;
use crate::read::index::Index;
use crate::run::drive::{ReplayOptions, replay_with};
use crate::run::setup::{Preset, Setup};
use foldback_core::stage::Estimator;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
pub(crate) use tracer::Tracer;

/// A session and what presets made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    /// Path of the file, `#id` after it where the file holds several sessions.
    pub path: String,
    /// Id of the format.
    pub format: String,
    /// Estimator of the token counts.
    pub measure: String,
    /// The log.
    pub messages: Vec<Line>,
    /// The calls.
    pub calls: Vec<Call>,
    /// What the calls refer to, in order of calls.
    pub needs: Vec<Need>,
    /// One per preset.
    pub tracks: Vec<Track>,
}

impl Setup {
    /// A session under presets, call by call, in their order.
    pub fn walk(&self, path: &str, session: &Session, presets: &[&Preset], detail: Detail) -> Walk {
        let index = Arc::new(Index::new(session));
        let track = |preset: &&Preset| {
            let mut options = self.options(session, &preset.strategy);
            options.completions.clone_from(&preset.completions);
            Track::new(session, &index, &preset.strategy, &options, detail)
        };
        let tracks = in_parallel(presets, track);
        Walk { tracks, ..Walk::new(path, session, &index, &self.measure, detail) }
    }
}

impl Walk {
    /// The session itself, without any preset yet.
    pub(crate) fn new(
        path: &str,
        session: &Session,
        index: &Index,
        measure: &Arc<dyn Estimator>,
        detail: Detail,
    ) -> Self {
        let (messages, calls) = log::read(session, &**measure, detail);
        let needs = needs::needs(index, &calls, &**measure);
        Self {
            path: path.to_owned(),
            format: session.format.to_owned(),
            measure: measure.id().to_string(),
            messages,
            calls,
            needs,
            tracks: Vec::new(),
        }
    }

    /// Replays that failed.
    pub fn failed(&self) -> impl Iterator<Item = FailedReplay> {
        self.tracks.iter().filter_map(|track| {
            let fault = track.fault.clone()?;
            let (session, preset) = (self.path.as_str().into(), track.preset.clone());
            Some(FailedReplay { session, preset, fault })
        })
    }
}

impl Track {
    /// Replays a session under a preset.
    pub(crate) fn new(
        session: &Session,
        index: &Arc<Index>,
        strategy: &Arc<Strategy>,
        options: &ReplayOptions,
        detail: Detail,
    ) -> Self {
        let replayed = caught(|| {
            let mut tracer = Tracer::new(Arc::clone(index), detail);
            let replay = replay_with(session, index, strategy, options, &mut [&mut tracer]);
            tracer.finish(&replay)
        });
        replayed.unwrap_or_else(|fault| Self {
            preset: strategy.label(),
            limits: options.limits,
            estimator: strategy.estimator().id().to_string(),
            idle: vec![format!("the replay failed: {fault}; {REPORT}")],
            fault: Some(fault),
            ..Self::default()
        })
    }
}
