//! Availability: how much of what the agent later refers to still stands in the view.
//!
//! A recorded run tells what an agent needed: the identifiers in the arguments of its tool calls. If
//! such an identifier had stood in the log before and stands in the view of the call, the strategy
//! has kept what was needed; if not, the agent would have had to guess it or to find it again. No
//! model takes part.
//!
//! - *Forward-reference retention* (FRR): [`score`] over [`ReferenceRow`]s. For call t the references
//!   are Q_t = ids(arguments of the answer) without ids(head), head being the frame and the first user
//!   message, as far as they stood in the log before t; FRR is the share of them that stands in the
//!   view. Strata: `obs`, `far`, class, distance, `rescued`.
//! - *Edit-precondition retention* (EPR): a [`Share`] of [`EditRow`]s. Of the edits whose old
//!   text had stood in the log word for word, the share whose old text stands in the view.
//! - *Would-be re-reads*: [`RereadRow`]s, the price of the misses of both.
//! - *Must-keep*: [`MustKeep`].
//!
//! Presence is an upper bound on use: that a string stands in the context does not mean that a model
//! finds it there.
//!
//! [`Index`] holds everything that does not depend on the strategy and is made once per session. A
//! replay only counts, per reference, how many visible parts have it, and looks at parts again only
//! when a fold changed how they are shown.

mod edits;
mod index;
mod keep;
mod rows;
#[cfg(test)]
mod tests;
mod tracker;

pub use index::Index;
pub(crate) use index::{EditNeed, LogPart, text_of};
pub(crate) use keep::paths;
pub use keep::{ArtifactTrail, MustKeep, SetRecall};
pub use rows::{
    Answered, DISTANCES, EditRow, FAR, ReferenceRow, RereadRow, Retention, Share, score,
};

use crate::drive::Probe;
use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_core::stage::Estimator;
use keep::{Trail, ViewPaths, instructions, is_failure, plan_part};
use std::collections::BTreeSet;
use std::sync::Arc;
use tracker::Tracker;

/// What a replay kept of what was needed, as raw rows in order of calls.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// One row per reference.
    pub references: Vec<ReferenceRow>,
    /// One row per edit.
    pub edits: Vec<EditRow>,
    /// One row per result that would have had to be read again.
    pub rereads: Vec<RereadRow>,
    /// What must be kept whatever else goes.
    pub must_keep: MustKeep,
}

/// The probe. Give it to [`crate::replay_with`], then the conversation of the replay to
/// [`Availability::finish`].
#[derive(Debug)]
pub struct Availability {
    index: Arc<Index>,
    measure: Arc<dyn Estimator>,
    tracker: Tracker,
    findings: Findings,
    /// Results and evictions that a re-read was already counted for.
    reread: BTreeSet<(LogPart, usize)>,
    /// User messages of the log so far, with the parts that the user wrote.
    instructions: Vec<(usize, Vec<usize>)>,
    last_error: Option<usize>,
    plan: Option<LogPart>,
    looked_at: usize,
}

impl Availability {
    /// A probe over one session; `measure` counts the tokens of results that would be read again.
    pub fn new(index: Arc<Index>, measure: Arc<dyn Estimator>) -> Self {
        Self {
            tracker: Tracker::new(Arc::clone(&index)),
            index,
            measure,
            findings: Findings::default(),
            reread: BTreeSet::new(),
            instructions: Vec::new(),
            last_error: None,
            plan: None,
            looked_at: 0,
        }
    }

    /// Looks at the view that the session ended with and hands out what was found.
    pub fn finish(mut self, conversation: &Conversation) -> Findings {
        let end = self.index.calls.len();
        self.tracker.update(conversation, end);
        self.look();
        self.findings.must_keep.instructions_end = self.instructions_kept(conversation);
        self.findings.must_keep.trail = self.trail(conversation);
        self.findings
    }

    fn references(&mut self, call: usize) {
        let index = Arc::clone(&self.index);
        let Some(needs) = index.calls.get(call) else {
            return;
        };
        for need in &needs.references {
            let presence = self.tracker.presence(need.reference);
            if !presence.kept
                && let Some(source) = need.source
            {
                self.miss(call, source);
            }
            let reference = &index.references[need.reference as usize];
            self.findings.references.push(ReferenceRow {
                call,
                identifier: Arc::clone(&reference.text),
                class: reference.class,
                distance: need.distance,
                obs: need.obs,
                kept: presence.kept,
                rescued: presence.rescued,
                last_seen: index.log[need.last_seen].id.clone(),
                left_view_at: presence.left_at,
            });
        }
    }

    fn edits(&mut self, conversation: &Conversation, call: usize) {
        let index = Arc::clone(&self.index);
        let Some(needs) = index.calls.get(call) else {
            return;
        };
        for need in &needs.edits {
            let original = need.places.iter().any(|at| self.tracker.is_original(*at));
            let kept = original || self.tracker.is_written(conversation, &need.text);
            if !kept && let Some(source) = need.source {
                self.miss(call, source);
            }
            let last = need.places.last().map(|(ordinal, _)| *ordinal);
            self.findings.edits.push(EditRow {
                call,
                first_line: need.text.lines().next().unwrap_or_default().to_owned(),
                kept,
                last_seen: last.map_or_else(String::new, |at| index.log[at].id.clone()),
            });
        }
    }

    /// Something of a result is missed. Read again once, it is back until the next eviction.
    fn miss(&mut self, call: usize, source: LogPart) {
        let Some(left_view_at) = self.tracker.left_at(source) else {
            return;
        };
        if !self.reread.insert((source, left_view_at)) {
            return;
        }
        let message = &self.index.log[source.0];
        let part = &message.parts[source.1];
        self.findings.rereads.push(RereadRow {
            call,
            source: message.id.clone(),
            left_view_at,
            tokens: self.measure.part(part, &part.shown()),
        });
    }

    /// Takes note of what the log has got since the last call.
    fn look(&mut self) {
        let until = self.tracker.log_len().min(self.index.log.len());
        for ordinal in self.looked_at..until {
            let message = &self.index.log[ordinal];
            let parts = instructions(message);
            if !parts.is_empty() {
                self.instructions.push((ordinal, parts));
            }
            if is_failure(message) {
                self.last_error = Some(ordinal);
            }
            if let Some(part) = plan_part(message) {
                self.plan = Some((ordinal, part));
            }
        }
        self.looked_at = until;
    }

    fn must_keep(&mut self, conversation: &Conversation) {
        if let Some(ordinal) = self.last_error {
            let parts = 0..self.index.log[ordinal].parts.len();
            let kept = parts.into_iter().all(|part| self.tracker.is_original((ordinal, part)));
            self.findings.must_keep.last_error.count(kept);
        }
        if let Some(plan) = self.plan {
            let kept = self.tracker.is_original(plan);
            self.findings.must_keep.plan.count(kept);
        }
        let now = self.instructions_kept(conversation);
        let worst = &mut self.findings.must_keep.instructions_worst;
        // now < worst, without dividing.
        if worst.needed == 0 || now.kept * worst.needed < worst.kept * now.needed {
            *worst = now;
        }
    }

    fn instructions_kept(&self, conversation: &Conversation) -> Share {
        let mut share = Share::default();
        for (ordinal, parts) in &self.instructions {
            let message = &self.index.log[*ordinal];
            let kept = parts.iter().all(|part| {
                self.tracker.is_original((*ordinal, *part))
                    || self.tracker.is_written(conversation, &message.parts[*part].shown())
            });
            share.count(kept);
        }
        share
    }

    fn trail(&self, conversation: &Conversation) -> ArtifactTrail {
        let (mut truth, mut found) = (Trail::default(), Trail::default());
        for (ordinal, message) in self.index.log.iter().enumerate() {
            for (index, part) in message.parts.iter().enumerate() {
                truth.take(part);
                if self.tracker.is_original((ordinal, index)) {
                    found.take(part);
                }
            }
        }
        let mut paths = ViewPaths::default();
        for segment in &conversation.frame().segments {
            paths.take(&segment.text);
        }
        for shown in conversation.sent() {
            for (part, original) in shown.message.parts.iter().enumerate() {
                match shown.edit(part) {
                    Some(edit) => paths.take(&edit.text),
                    None => paths.take(&index::text_of(original)),
                }
            }
        }
        truth.against(&found, &paths)
    }
}

impl Probe for Availability {
    fn call(&mut self, conversation: &Conversation, call: usize, _answer: &Message) {
        self.tracker.update(conversation, call);
        self.look();
        self.references(call);
        self.edits(conversation, call);
        self.must_keep(conversation);
    }
}
