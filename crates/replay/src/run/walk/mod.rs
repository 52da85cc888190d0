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
mod worst;

pub use repeated::{GENERATIONS, Repeated};
pub use worst::{Missed, worst};

use crate::fault::{FailedReplay, Fault, REPORT, caught};
use crate::judge::availability::Availability;
use crate::judge::request::Probe;
use crate::parallel::in_parallel;
use crate::read::identifiers::Class;
use crate::read::index::Index;
use crate::run::drive::{ReplayOptions, replay_with};
use crate::run::setup::{Preset, Setup};
use crate::run::totals::BrokenRule;
use foldback_core::Limits;
use foldback_core::log::{EntryKind, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::Estimator;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracer::Tracer;

/// How much of the texts a walk keeps, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Of a message.
    pub excerpt: usize,
    /// Of what a compaction wrote.
    pub written: usize,
}

impl Default for Detail {
    fn default() -> Self {
        Self { excerpt: 200, written: 4_000 }
    }
}

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

/// One message of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Who speaks.
    pub role: Role,
    /// Tools that are called, or the tool that answers; empty if there is none.
    pub name: String,
    /// Size of the message as it was recorded.
    pub tokens: u64,
    /// The beginning of it on one line.
    pub excerpt: String,
    /// Whether the excerpt is not all of it.
    pub cut: bool,
    /// The call that this message answers, or whose tool run it is the result of.
    pub call: Option<usize>,
}

/// One recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Ordinal of its answer. The messages before it are those that the request could show.
    pub answer: usize,
    /// Number of the user turn, from 1.
    pub turn: usize,
    /// Size of the request without any compaction.
    pub plain_tokens: u64,
}

/// What a call needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// The text that an edit replaces.
    Edit,
    /// A piece of a result that a tool call repeats word for word.
    Piece,
    /// An identifier in the arguments of a tool call.
    Reference(Class),
}

/// Something that a call names and that had been in the log before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Number of the call.
    pub call: usize,
    /// What it is.
    pub kind: NeedKind,
    /// The identifier, or the first line of the old text or of the piece.
    pub text: String,
    /// The file that is edited, as the call names it.
    pub file: Option<String>,
    /// Calls since it was last in the log; 1 for what the call before brought.
    pub distance: usize,
    /// Ordinal of the message that had it last.
    pub seen: usize,
    /// The latest tool result that had it: what would have to be read again.
    pub source: Option<NeedSource>,
    /// Whether *kept* counts it: a reference that only tools and users had said, and not in the last calls.
    #[serde(default)]
    pub headline: bool,
}

/// A tool result that something needed came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedSource {
    /// Ordinal of the message.
    pub message: usize,
    /// Size of the result.
    pub tokens: u64,
}

/// One session under one preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// Name with the summarizer that stood in.
    pub preset: String,
    /// Limits in force.
    pub limits: Limits,
    /// Estimator that the preset decides with.
    pub estimator: String,
    /// Size of each request, frame included.
    pub tokens: Vec<u64>,
    /// Calls whose request the provider would have refused as it stood.
    pub overflows: Vec<usize>,
    /// The first call before which so many automatic folds in a row had no effect that the breaker stops them.
    #[serde(default)]
    pub stuck: Option<usize>,
    /// Provider rules that the preset broke, with the number of the first call that did.
    #[serde(default)]
    pub broken: Vec<(usize, BrokenRule)>,
    /// What changed the view.
    pub firings: Vec<TrackFiring>,
    /// The calls before which the view of an older message changed.
    pub steps: Vec<ViewStep>,
    /// What compactions wrote in place of messages.
    pub written: Vec<Written>,
    /// What cleared and cut parts show, each text once.
    pub shown: Vec<String>,
    /// What calls needed and the view did not have, in order of calls.
    pub forgotten: Vec<Forgotten>,
    /// Whether summaries that only their provider can read may hold some of it.
    #[serde(default)]
    pub sealed: bool,
    /// What stages failed to do, with why, each once.
    pub failures: Vec<String>,
    /// Why nothing fired, where nothing did; a line for each stage that ran.
    pub idle: Vec<String>,
    /// Why there is no more, where the replay failed.
    #[serde(default)]
    pub fault: Option<Fault>,
}

/// A stage that changed the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackFiring {
    /// Number of the call that came next.
    pub call: usize,
    /// When.
    pub moment: Moment,
    /// Name of the stage.
    pub stage: String,
    /// A fold of policy and filter; otherwise a pruner.
    pub fold: bool,
    /// Why, as the policy and the stage put it; empty where neither says anything.
    pub reason: String,
    /// What did not go as it was meant to.
    pub degraded: Option<String>,
    /// View before, by the preset's own estimator, frame not included.
    pub own_before: u64,
    /// View after, by the preset's own estimator, frame not included.
    pub own_after: u64,
}

/// How a request shows a message of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As it was recorded.
    Kept,
    /// Parts of it were cut.
    Truncated,
    /// Parts of it show a placeholder.
    Cleared,
    /// Not at all; a summary stands for it.
    Summarised,
    /// Not at all, and nothing stands for it.
    Dropped,
}

/// What a request shows otherwise than the one before did. New messages are kept unless they are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewStep {
    /// Number of the call.
    pub call: usize,
    /// Messages in another state, ascending.
    pub changes: Vec<MessageChange>,
    /// Indices into [`Track::written`] of all that is in the view from now on, in its order.
    pub standing: Vec<usize>,
}

/// A message in another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageChange {
    /// Ordinal of the message.
    pub message: usize,
    /// The state from now on.
    pub state: State,
    /// What the request spends on it; 0 where it isn't shown.
    pub tokens: u64,
    /// Index into [`Track::shown`] of what the first part that was cleared or cut shows.
    pub shown: Option<usize>,
}

/// A message that a compaction wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// What kind.
    pub kind: EntryKind,
    /// Number of the first call that was shown it.
    pub call: usize,
    /// Size.
    pub tokens: u64,
    /// The text, or its beginning.
    pub text: String,
    /// Whether the text is not all of it.
    pub cut: bool,
}

/// A need that the view did not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// Index into [`Walk::needs`].
    pub need: usize,
    /// Number of the first call since which no view has had it.
    pub left_view_at: usize,
}

impl Setup {
    /// A session under presets, call by call, in their order.
    pub fn walk(&self, path: &str, session: &Session, presets: &[&Preset], detail: Detail) -> Walk {
        let index = Arc::new(Index::of(session));
        let track = |preset: &&Preset| {
            let mut options = self.options(session, &preset.strategy);
            options.completions.clone_from(&preset.completions);
            Track::of(session, &index, &preset.strategy, &options, detail)
        };
        let tracks = in_parallel(presets, track);
        Walk { tracks, ..Walk::of(path, session, &index, &self.measure, detail) }
    }
}

impl Walk {
    /// The session itself, without any preset yet.
    pub fn of(
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
    pub fn of(
        session: &Session,
        index: &Arc<Index>,
        strategy: &Arc<Strategy>,
        options: &ReplayOptions,
        detail: Detail,
    ) -> Self {
        let replayed = caught(|| {
            let mut availability = Availability::new(Arc::clone(index));
            let mut tracer = Tracer::new(Arc::clone(index), detail);
            let mut probes: [&mut dyn Probe; 2] = [&mut availability, &mut tracer];
            let replay = replay_with(session, index, strategy, options, &mut probes);
            tracer.finish(&replay, &availability.finish())
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
