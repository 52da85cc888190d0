//! What one replay of one session says about a strategy beyond price and retention: size and pressure,
//! firings, how long facts live, what summaries are worth, and where needed things stand.
//!
//! [`Vocabulary`] holds what no strategy can change and is made once per session. [`Measures`] is one
//! [`Probe`] that feeds every measure from the same bookkeeping; [`SessionMeasures`] is what it hands
//! out: compact, serialisable, without the session. Identifiers are those of
//! [`crate::identifiers`], tokens those of the measuring estimator, a view is what a request sends:
//! what is appended and folded away between two requests was dropped, and several folds between two
//! requests are one firing.
//!
//! | module | measure | merges over sessions |
//! |---|---|---|
//! | [`size`] | cumulative, peak, exposure, firings, MEM1 dependency | yes, but for p95 |
//! | [`firings`] | tokens before and after, identifier recall at compaction | rows |
//! | [`survival`] | Kaplan–Meier curve, half-life | yes |
//! | [`summaries`] | faithfulness, recall of what is needed later, drift | rows |
//! | [`position`] | where needed references stand | yes |

pub mod firings;
pub mod position;
mod presence;
pub mod size;
pub mod summaries;
pub mod survival;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use vocabulary::{Source, Vocabulary};

use crate::drive::Probe;
use firings::{Firing, Firings};
use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use position::{Offsets, Positions};
use presence::{Change, Presence};
use serde::{Deserialize, Serialize};
use size::{Call, Sizes, p95};
use std::sync::Arc;
use summaries::{Reader, Summaries};
use survival::{Lives, Survival};

/// What a replay of a session gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionMeasures {
    /// Totals of the requests.
    pub size: Sizes,
    /// The 95th percentile of the requests, in tokens; `None` without calls.
    pub p95: Option<u64>,
    /// Every change of the view.
    pub firings: Vec<Firing>,
    /// How long identifiers stay.
    pub survival: Survival,
    /// What was written and what it was worth.
    pub summaries: Summaries,
    /// Where needed references stand.
    pub positions: Positions,
}

/// The probe. Give it to [`crate::replay_with`], then the conversation of the replay to
/// [`Measures::finish`].
#[derive(Clone, Debug)]
pub struct Measures {
    vocabulary: Arc<Vocabulary>,
    meter: usize,
    presence: Presence,
    calls: Vec<Call>,
    firings: Firings,
    lives: Lives,
    reader: Reader,
    offsets: Offsets,
}

impl Measures {
    /// A probe over one session. `meter` is the index of the conversation's meter that measures: in
    /// [`crate::replay_with`] it comes behind those of the strategy, so it is the length of
    /// [`Strategy::estimators`](foldback_core::strategy::Strategy::estimators).
    pub fn new(vocabulary: Arc<Vocabulary>, meter: usize) -> Self {
        Self {
            meter,
            presence: Presence::new(Arc::clone(&vocabulary)),
            calls: Vec::new(),
            firings: Firings::new(meter),
            lives: Lives::new(Arc::clone(&vocabulary)),
            reader: Reader::new(Arc::clone(&vocabulary)),
            offsets: Offsets::new(Arc::clone(&vocabulary), meter),
            vocabulary,
        }
    }

    /// Looks at what the session ended with and hands out what was found.
    pub fn finish(mut self, conversation: &Conversation) -> SessionMeasures {
        let calls = self.calls.len();
        // No request has what was appended or folded since the last one, so it ends no life; but a
        // summary that was written is one.
        self.update(conversation, calls);
        let inputs: Vec<u64> = self.calls.iter().map(|call| call.input).collect();
        SessionMeasures {
            size: Sizes::of(&self.calls),
            p95: p95(&inputs),
            firings: self.firings.finish(),
            survival: self.lives.finish(calls),
            summaries: self.reader.finish(),
            positions: self.offsets.finish(),
        }
    }

    /// Brings the bookkeeping up to date and takes note of a firing.
    fn update(&mut self, conversation: &Conversation, call: usize) -> Change {
        let written = self.firings.written(conversation, &self.presence);
        let folds = self.presence.new_folds(conversation);
        let mut change = self.presence.update(conversation);
        change.dropped.retain(|id| !self.vocabulary.entries[*id as usize].in_frame);
        for edit in folds.iter().flat_map(|fold| &fold.plan.edits) {
            self.reader.lay_over(&edit.text);
        }
        for summary in &written {
            self.reader.read(&self.presence, call, &summary.text, summary.tokens);
        }
        if !written.is_empty() {
            self.reader.cycle(&self.presence, call, &change.dropped);
        }
        let firing = self.firings.look(conversation, call, &change, folds, &written);
        if let Some(firing) = firing {
            let there = change.dropped.iter().filter(|id| self.presence.has(**id));
            firing.still_there = there.count() as u64;
            firing.dropped = change.dropped.len() as u64;
        }
        change
    }
}

impl Probe for Measures {
    fn call(&mut self, conversation: &Conversation, call: usize, answer: &Message) {
        let change = self.update(conversation, call);
        self.lives.look(&self.presence, &change.touched, call);
        self.offsets.look(conversation, &self.presence, &change, call);
        let meter = conversation.meter(self.meter);
        let usage = answer.answer.as_ref().and_then(|answer| answer.usage);
        self.calls.push(Call {
            input: meter.frame_tokens() + meter.view_tokens(),
            output: usage
                .map_or_else(|| meter.measure(answer), |usage| usage.output + usage.reasoning),
            ceiling: conversation.limits().request_ceiling(),
            fired: change.folded,
        });
    }
}
