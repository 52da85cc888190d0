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
//! - *Rules*: of the sentences in which the user forbade or demanded something for the time to come, those that are in the view.
//! - *Must-keep*: [`MustKeep`].
//!
//! Presence is an upper bound on use: that a string is in the context does not mean that a model
//! finds it there.
//!
//! [`Index`] holds what the calls refer to, [`Tracker`] what of it the view has.

mod keep;
#[cfg(test)]
pub(crate) mod tests;

pub use keep::Files;
pub use keep::MustKeep;

use crate::judge::request::{Probe, Request};
use crate::judge::retention::{FAR, Retention};
use crate::read::index::{Index, NeedleId, Presence, Tracker};
use crate::stats::Share;
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
    /// For each reused piece of the session, whether the view held it.
    pub pieces: Vec<bool>,
    /// What must be kept whatever else goes.
    pub must_keep: MustKeep,
}

/// The probe. Give it to [`crate::replay_with`], then take its findings.
#[derive(Debug)]
pub struct Availability {
    index: Arc<Index>,
    findings: Findings,
    instructions: Instructions,
    last_error: Option<usize>,
    looked_at: usize,
}

impl Availability {
    /// A probe over one session.
    pub fn new(index: Arc<Index>) -> Self {
        Self {
            instructions: Instructions::new(&index),
            index,
            findings: Findings::default(),
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
            retention.count(need, presence);
            self.findings.references.push(presence);
        }
    }

    fn edits(&mut self, tracker: &Tracker, call: usize, retention: &mut Retention) {
        let index = Arc::clone(&self.index);
        for need in index.calls.get(call).into_iter().flat_map(|needs| &needs.edits) {
            let kept = tracker.shows_old_text(need);
            retention.edits.count(kept);
            self.findings.edits.push(kept);
        }
    }

    fn rules(&self, tracker: &Tracker, retention: &mut Retention) {
        for rule in self.index.rules.iter().filter(|rule| rule.at[0].0 < tracker.log_len()) {
            let shown = rule.at.iter().any(|at| tracker.is_original(*at));
            let kept = shown || tracker.is_written(rule.needle);
            let mut names = rule.names.iter();
            let named = !rule.names.is_empty() && names.all(|name| tracker.has(*name));
            retention.rules.count(kept);
            retention.rules_named += u64::from(kept || named);
        }
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
    fn new(index: &Index) -> Self {
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
        for need in self.index.verbatim.needs(call) {
            let kept = tracker.stands(need.piece);
            retention.pieces.count(kept);
            self.findings.pieces.push(kept);
            if need.distance > FAR {
                retention.pieces_far.count(kept);
            }
        }
        self.rules(tracker, &mut retention);
        self.findings.calls.push(retention);
        self.must_keep(tracker);
    }

    fn end(&mut self, request: &Request<'_>) {
        self.look(request);
        self.findings.must_keep.instructions = self.instructions.share;
        self.findings.must_keep.files = self.files(request.tracker);
    }
}
