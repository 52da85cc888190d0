//! What a preset made of a session.

use super::firings::TrackFiring;
use crate::fault::Fault;
use crate::run::totals::BrokenRule;
use foldback_core::Limits;
use foldback_core::log::EntryKind;
use serde::{Deserialize, Serialize};

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
    pub written: Vec<WrittenMessage>,
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
pub struct WrittenMessage {
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
    /// Index into [`Walk::needs`](super::Walk::needs).
    pub need: usize,
    /// Number of the first call since which no view has had it.
    pub left_view_at: usize,
}
