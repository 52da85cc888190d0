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
//! - *Last error*: of the calls after a failed tool run or a failing test, those whose view shows the latest of them.
//!
//! Presence is an upper bound on use: that a string is in the context does not mean that a model
//! finds it there.
//!
//! [`Index`] holds what the calls refer to, [`Tracker`] what of it the view has.

#[cfg(test)]
pub(crate) mod tests;

use crate::judge::request::{Probe, Request};
use crate::judge::retention::{FAR, Retention};
use crate::read::index::{CallNeeds, Index, Tracker};
use crate::stats::Share;
use std::sync::Arc;

/// What a replay kept of what was needed.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// By call, what it needed.
    pub calls: Vec<Retention>,
    /// Calls after a failed tool run or a failing test whose view shows the latest of them.
    pub last_error: Share,
}

/// The probe. Give it to [`crate::replay_with`], then take its findings.
#[derive(Debug)]
pub struct Availability {
    index: Arc<Index>,
    findings: Findings,
    last_error: Option<usize>,
    looked_at: usize,
}

impl Availability {
    /// A probe over one session.
    pub fn new(index: Arc<Index>) -> Self {
        Self { index, findings: Findings::default(), last_error: None, looked_at: 0 }
    }

    /// What was found.
    pub fn finish(self) -> Findings {
        self.findings
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

    /// Whether the latest failure in the log is in view, if there is one.
    fn last_error(&mut self, tracker: &Tracker) {
        let until = tracker.log_len().min(self.index.log.len());
        let failed = (self.looked_at..until).rev().find(|ordinal| self.index.failed[*ordinal]);
        self.last_error = failed.or(self.last_error);
        self.looked_at = until;
        if let Some(ordinal) = self.last_error {
            let mut parts = 0..self.index.log[ordinal].parts.len();
            self.findings.last_error.count(parts.all(|part| tracker.is_original((ordinal, part))));
        }
    }
}

impl Probe for Availability {
    fn call(&mut self, request: &Request<'_>) {
        let (tracker, call) = (request.tracker, request.call);
        let mut retention = Retention::default();
        if let Some(CallNeeds { references, edits }) = self.index.calls.get(call) {
            references
                .iter()
                .for_each(|need| retention.count(need, tracker.presence(need.reference)));
            edits.iter().for_each(|need| retention.edits.count(tracker.shows_old_text(need)));
        }
        for need in self.index.verbatim.needs(call) {
            let kept = tracker.stands(need.piece);
            retention.pieces.count(kept);
            if need.distance > FAR {
                retention.pieces_far.count(kept);
            }
        }
        self.rules(tracker, &mut retention);
        self.findings.calls.push(retention);
        self.last_error(tracker);
    }
}
