//! Availability: how much of what the agent later refers to is still in the view.
//!
//! A recorded run shows what an agent needed: the identifiers in the arguments of its tool calls. If
//! such an identifier had been in the log before and is in the view of the call, the strategy
//! has kept what was needed; if not, the agent would have had to guess it or to find it again. No
//! model takes part.
//!
//! - *Forward-reference retention* (FRR): [`score`] over [`Reference`]s and their [`Presence`]. For call t the references
//!   are Q_t = ids(arguments of the answer) without ids(head), head being the frame and the first user
//!   message, as far as they were in the log before t; FRR is the share of them that is in the
//!   view. Strata: `obs`, `far`, class, distance, `rescued`.
//! - *Edit-precondition retention* (EPR): a [`Share`] of [`Edit`]s. Of the edits whose old
//!   text had been in the log, the share whose old text is in the view. Texts are compared line by line, in
//!   what is of the same file (`index/lines.rs`).
//! - *Would-be re-reads*: [`RereadRow`]s, the price of the misses of both.
//! - *Must-keep*: [`MustKeep`].
//!
//! Presence is an upper bound on use: that a string is in the context does not mean that a model
//! finds it there.
//!
//! [`Index`] holds what the calls refer to, [`Tracker`](crate::index::Tracker) what of it the view has.

mod keep;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use keep::{Action, PATH_FIELDS, actions, is_failure, plan_part};
pub use keep::{ArtifactTrail, MustKeep, SetRecall};
pub use rows::{
    DISTANCES, Edit, FAR, Presence, Reference, RereadRow, Retention, Share, edits, references,
    score,
};

use crate::drive::{Probe, Request};
use crate::index::{Index, LogPart, NeedleId, Tracker};
use foldback_core::stage::Estimator;
use keep::Trail;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a replay kept of what was needed.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// How each of the session's [`references`] stood.
    pub references: Vec<Presence>,
    /// For each of its [`edits`], whether its old text was in the view.
    pub edits: Vec<bool>,
    /// For each of the pieces that it [reuses](crate::verbatim), whether it was in the view.
    pub pieces: Vec<bool>,
    /// One row per result that would have had to be read again.
    pub rereads: Vec<RereadRow>,
    /// What must be kept whatever else goes.
    pub must_keep: MustKeep,
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
    plan: Option<LogPart>,
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
            plan: None,
            looked_at: 0,
        }
    }

    /// What was found.
    pub fn finish(self) -> Findings {
        self.findings
    }

    fn references(&mut self, tracker: &Tracker, call: usize) {
        let index = Arc::clone(&self.index);
        for need in index.calls.get(call).into_iter().flat_map(|needs| &needs.references) {
            let standing = tracker.standing(need.reference);
            if let (false, Some(source)) = (standing.kept, need.source) {
                self.miss(tracker, call, source);
            }
            self.findings.references.push(Presence {
                kept: standing.kept,
                rescued: standing.rescued,
                left_view_at: standing.left_at,
            });
        }
    }

    fn edits(&mut self, tracker: &Tracker, call: usize) {
        let index = Arc::clone(&self.index);
        for need in index.calls.get(call).into_iter().flat_map(|needs| &needs.edits) {
            let kept = tracker.is_written(need.needle)
                || index.places(need).iter().any(|at| tracker.is_original(*at));
            if let (false, Some(source)) = (kept, need.source) {
                self.miss(tracker, call, source);
            }
            self.findings.edits.push(kept);
        }
    }

    /// Something of a result is missed. Read again once, it is back until the next eviction.
    fn miss(&mut self, tracker: &Tracker, call: usize, source: LogPart) {
        let Some(left_view_at) = tracker.left_at(source) else {
            return;
        };
        if !self.reread.insert((source, left_view_at)) {
            return;
        }
        let message = &self.index.log[source.0];
        let counts = self.measure.counts(message);
        self.findings.rereads.push(RereadRow {
            call,
            source: message.id.clone(),
            left_view_at,
            tokens: counts.parts.get(source.1).copied().unwrap_or(0),
        });
    }

    /// Takes note of what the log has got since the last call.
    fn look(&mut self, request: &Request<'_>) {
        let until = request.tracker.log_len().min(self.index.log.len());
        for ordinal in self.looked_at..until {
            if self.index.failed[ordinal] {
                self.last_error = Some(ordinal);
            }
            if let Some(part) = self.index.plans.get(&ordinal) {
                self.plan = Some((ordinal, *part));
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
        if let Some(plan) = self.plan {
            let kept = tracker.is_original(plan);
            self.findings.must_keep.plan.count(kept);
        }
        let now = self.instructions.share;
        let worst = &mut self.findings.must_keep.instructions_worst;
        // now < worst, without dividing.
        if worst.needed == 0 || now.kept * worst.needed < worst.kept * now.needed {
            *worst = now;
        }
    }

    fn trail(&self, tracker: &Tracker) -> ArtifactTrail {
        let (mut truth, mut found) = (Trail::default(), Trail::default());
        for (at, action, path) in &self.index.acts {
            truth.take(*action, path);
            if tracker.is_original(*at) {
                found.take(*action, path);
            }
        }
        let there = |id| tracker.has(id) || self.index.entries[id as usize].in_frame;
        truth.against(&found, |path| self.index.names_file(path, there))
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
        self.references(request.tracker, request.call);
        self.edits(request.tracker, request.call);
        let pieces = self.index.verbatim.needs(request.call);
        self.findings.pieces.extend(pieces.map(|piece| request.tracker.stands(piece)));
        self.must_keep(request.tracker);
    }

    fn end(&mut self, request: &Request<'_>) {
        self.look(request);
        self.findings.must_keep.instructions_end = self.instructions.share;
        self.findings.must_keep.trail = self.trail(request.tracker);
    }
}
