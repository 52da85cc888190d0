//! Availability: how much of what the agent later refers to is still in the view.
//!
//! A recorded run shows what an agent needed: the identifiers in the arguments of its tool calls. If
//! such an identifier had been in the log before and is in the view of the call, the strategy
//! has kept what was needed; if not, the agent would have had to guess it or to find it again. No
//! model takes part.
//!
//! - *Forward-reference retention* (FRR): the share of the references that are in the view. For call t the references
//!   are Q_t = ids(arguments of the answer) without ids(head), head being the frame and the first user
//!   message, as far as they were in the log before t. [`Retention`] counts them by call, by distance and by who had said them.
//! - *Edit-precondition retention* (EPR): of the edits whose old
//!   text had been in the log, the share whose old text is in the view. Texts are compared line by line, in
//!   what is of the same file (`index/lines.rs`).
//! - *Would-be re-reads*: [`RereadRow`]s, the price of the misses of both.
//! - *Must-keep*: [`MustKeep`].
//!
//! Presence is an upper bound on use: that a string is in the context does not mean that a model
//! finds it there.
//!
//! [`Index`] holds what the calls refer to, [`Tracker`] what of it the view has.

mod keep;
#[cfg(test)]
pub(crate) mod tests;

pub use keep::{Files, MustKeep};

use crate::drive::{Probe, Request};
use crate::index::{Index, LogPart, NeedleId, Presence, Tracker};
use crate::retention::{FAR, Retention, Share};
use foldback_core::stage::Estimator;
use keep::Trail;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a replay kept of what was needed.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// By call, what it needed.
    pub calls: Vec<Retention>,
    /// How each reference of the session was in the view.
    pub references: Vec<Presence>,
    /// For each edit of the session, whether its old text was in the view.
    pub edits: Vec<bool>,
    /// One row per result that would have had to be read again.
    pub rereads: Vec<RereadRow>,
    /// What must be kept whatever else goes.
    pub must_keep: MustKeep,
}

/// Something that would have had to be read again: a result that had left the view and that a call
/// needed something of. One row per result and eviction, however many references miss it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RereadRow {
    /// Number of the first call that misses something of it.
    pub call: usize,
    /// Id of the tool result.
    pub source: String,
    /// Number of the first call whose view did not have it any more.
    pub left_view_at: usize,
    /// Size of the original result by the measuring estimator.
    pub tokens: u64,
}

/// The probe. Give it to [`crate::replay_with`], then take its findings.
#[derive(Debug)]
pub struct Availability {
    index: Arc<Index>,
    measure: Arc<dyn Estimator>,
    findings: Findings,
    /// Results and evictions that a re-read was already counted for.
    reread: BTreeSet<(LogPart, usize)>,
    instructions: Instructions,
    last_error: Option<usize>,
    looked_at: usize,
}

impl Availability {
    /// A probe over one session; `measure` counts the tokens of results that would be read again.
    pub fn new(index: Arc<Index>, measure: Arc<dyn Estimator>) -> Self {
        Self {
            instructions: Instructions::of(&index),
            index,
            measure,
            findings: Findings::default(),
            reread: BTreeSet::new(),
            last_error: None,
            looked_at: 0,
        }
    }

    /// What was found.
    pub fn finish(self) -> Findings {
        self.findings
    }

    fn references(&mut self, tracker: &Tracker, call: usize, retention: &mut Retention) {
        let index = Arc::clone(&self.index);
        for need in index.calls.get(call).into_iter().flat_map(|needs| &needs.references) {
            let presence = tracker.presence(need.reference);
            if let (false, Some(source)) = (presence.kept, need.source) {
                self.miss(tracker, call, source, retention);
            }
            retention.count(need, presence);
            self.findings.references.push(presence);
        }
    }

    fn edits(&mut self, tracker: &Tracker, call: usize, retention: &mut Retention) {
        let index = Arc::clone(&self.index);
        for need in index.calls.get(call).into_iter().flat_map(|needs| &needs.edits) {
            let kept = tracker.is_written(need.needle)
                || index.places(need).iter().any(|at| tracker.is_original(*at));
            if let (false, Some(source)) = (kept, need.source) {
                self.miss(tracker, call, source, retention);
            }
            retention.edits.count(kept);
            self.findings.edits.push(kept);
        }
    }

    /// Something of a result is missed. Read again once, it is back until the next eviction.
    fn miss(&mut self, tracker: &Tracker, call: usize, source: LogPart, retention: &mut Retention) {
        let Some(left_view_at) = tracker.left_at(source) else {
            return;
        };
        if !self.reread.insert((source, left_view_at)) {
            return;
        }
        let message = &self.index.log[source.0];
        let counts = self.measure.counts(message);
        let tokens = counts.parts.get(source.1).copied().unwrap_or(0);
        retention.rereads += 1;
        retention.reread_tokens += tokens;
        let source = message.id.clone();
        self.findings.rereads.push(RereadRow { call, source, left_view_at, tokens });
    }

    /// Takes note of what the log has got since the last call.
    fn look(&mut self, request: &Request<'_>) {
        let until = request.tracker.log_len().min(self.index.log.len());
        for ordinal in self.looked_at..until {
            if self.index.failed[ordinal] {
                self.last_error = Some(ordinal);
            }
        }
        self.looked_at = until;
        self.instructions.look(request);
    }

    fn must_keep(&mut self, tracker: &Tracker) {
        if let Some(ordinal) = self.last_error {
            let parts = 0..self.index.log[ordinal].parts.len();
            let kept = parts.into_iter().all(|part| tracker.is_original((ordinal, part)));
            self.findings.must_keep.last_error.count(kept);
        }
    }

    /// The files that were changed, and those that the visible calls say were changed.
    fn files(&self, tracker: &Tracker) -> Files {
        let (mut truth, mut found) = (Trail::default(), Trail::default());
        for (at, action, path) in &self.index.acts {
            truth.take(*action, path);
            if tracker.is_original(*at) {
                found.take(*action, path);
            }
        }
        Files {
            truth: truth.modified.len() as u64,
            found: found.modified.len() as u64,
            correct: truth.modified.intersection(&found.modified).count() as u64,
        }
    }
}

/// The user's messages so far, and which of them are in the view word for word.
#[derive(Debug)]
struct Instructions {
    /// By ordinal of the message, its parts that the user wrote.
    messages: BTreeMap<usize, Vec<(usize, NeedleId)>>,
    /// The messages that have a text.
    by_needle: BTreeMap<NeedleId, Vec<usize>>,
    kept: BTreeSet<usize>,
    /// Messages of the log that were counted.
    counted: usize,
    share: Share,
}

impl Instructions {
    fn of(index: &Index) -> Self {
        let mut out = Self {
            messages: BTreeMap::new(),
            by_needle: BTreeMap::new(),
            kept: BTreeSet::new(),
            counted: 0,
            share: Share::default(),
        };
        for instruction in &index.instructions {
            let (ordinal, part) = instruction.at;
            out.messages.entry(ordinal).or_default().push((part, instruction.needle));
            out.by_needle.entry(instruction.needle).or_default().push(ordinal);
        }
        out
    }

    /// Looks again at the messages that something changed for.
    fn look(&mut self, request: &Request<'_>) {
        let tracker = request.tracker;
        let parts = request.change.parts.iter().map(|(ordinal, _)| *ordinal);
        let needles = request.change.needles.iter();
        let written = needles.filter_map(|needle| self.by_needle.get(needle)).flatten().copied();
        let changed: BTreeSet<usize> = parts.chain(written).collect();
        for ordinal in changed.into_iter().filter(|ordinal| *ordinal < tracker.log_len()) {
            let Some(parts) = self.messages.get(&ordinal) else {
                continue;
            };
            let kept = parts.iter().all(|(part, needle)| {
                tracker.is_original((ordinal, *part)) || tracker.is_written(*needle)
            });
            if kept {
                self.kept.insert(ordinal);
            } else {
                self.kept.remove(&ordinal);
            }
        }
        let new = self.messages.range(self.counted..tracker.log_len()).count() as u64;
        self.counted = tracker.log_len();
        self.share = Share { kept: self.kept.len() as u64, needed: self.share.needed + new };
    }
}

impl Probe for Availability {
    fn call(&mut self, request: &Request<'_>) {
        self.look(request);
        let (tracker, call) = (request.tracker, request.call);
        let mut retention = Retention::default();
        self.references(tracker, call, &mut retention);
        self.edits(tracker, call, &mut retention);
        for (piece, distance) in self.index.verbatim.needs(call) {
            let kept = tracker.stands(*piece);
            retention.pieces.count(kept);
            if *distance > FAR {
                retention.pieces_far.count(kept);
            }
        }
        self.findings.calls.push(retention);
        self.must_keep(tracker);
    }

    fn end(&mut self, request: &Request<'_>) {
        self.look(request);
        self.findings.must_keep.instructions = self.instructions.share;
        self.findings.must_keep.files = self.files(request.tracker);
    }
}
