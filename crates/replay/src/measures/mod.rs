//! What one replay of one session says about a strategy beyond price and retention: size and pressure,
//! firings, how long facts live, what summaries are worth, and the position of needed content.
//!
//! [`Measures`] is one [`Probe`] that feeds every measure; [`SessionMeasures`] is what it hands
//! out: compact, serializable, without the session. Identifiers are those of
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
pub mod size;
pub mod summaries;
pub mod survival;
#[cfg(test)]
mod tests;

use crate::cost::output_tokens;
use crate::drive::{Probe, Request};
use crate::index::Index;
use firings::{Firing, FiringTotals, Firings};
use position::{Offsets, Positions};
use serde::{Deserialize, Serialize};
use size::{Call, Sizes, p95};
use std::sync::Arc;
use summaries::{Reader, Summaries, SummaryTotals};
use survival::{Lives, Survival};

/// What a replay of a session gave, with a row for each firing and each summary.
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
    pub positions: Arc<Positions>,
}

impl SessionMeasures {
    /// What the sizes of the requests alone say.
    pub(crate) fn of_sizes(calls: &[Call]) -> Self {
        let inputs: Vec<u64> = calls.iter().map(|call| call.input).collect();
        Self { size: Sizes::of(calls), p95: p95(&inputs), ..Self::default() }
    }

    /// What a comparison reads of it.
    pub(crate) fn totals(self) -> (MeasureTotals, FiringTotals, SummaryTotals) {
        let measures = MeasureTotals {
            size: self.size,
            p95: self.p95,
            survival: self.survival,
            positions: self.positions,
        };
        (measures, FiringTotals::of(&self.firings), SummaryTotals::of(&self.summaries))
    }
}

/// What is left of the measures of a session when its rows are added up; kept in memory for every session of a
/// comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasureTotals {
    /// Totals of the requests.
    pub size: Sizes,
    /// The 95th percentile of the requests, in tokens; `None` without calls.
    pub p95: Option<u64>,
    /// How long identifiers stay.
    pub survival: Survival,
    /// Where needed references stand.
    pub positions: Arc<Positions>,
}

/// The probe. Give it to [`crate::replay_with`], then take what it found.
#[derive(Clone, Debug)]
pub struct Measures {
    index: Arc<Index>,
    calls: Vec<Call>,
    firings: Firings,
    lives: Lives,
    reader: Reader,
    offsets: Offsets,
}

impl Measures {
    /// A probe over one session.
    pub fn new(index: Arc<Index>) -> Self {
        Self {
            calls: Vec::new(),
            firings: Firings::default(),
            lives: Lives::new(Arc::clone(&index)),
            reader: Reader::new(Arc::clone(&index)),
            offsets: Offsets::new(Arc::clone(&index)),
            index,
        }
    }

    /// What was found.
    pub fn finish(self) -> SessionMeasures {
        SessionMeasures {
            firings: self.firings.finish(),
            survival: self.lives.finish(self.calls.len()),
            summaries: self.reader.finish(),
            positions: Arc::new(self.offsets.finish()),
            ..SessionMeasures::of_sizes(&self.calls)
        }
    }

    /// Takes note of a firing and of the summaries that it wrote.
    fn update(&mut self, request: &Request<'_>) {
        let Request { call, conversation, delta, tracker, change, .. } = *request;
        let folds = &conversation.folds()[delta.folds.clone()];
        let written = self.firings.written(request, folds);
        let mut dropped = change.dropped.clone();
        dropped.retain(|id| !self.index.entries[*id as usize].in_frame);
        for edit in folds.iter().flat_map(|fold| &fold.plan.edits) {
            self.reader.lay_over(&edit.text);
        }
        for summary in &written {
            self.reader.read(tracker, call, &summary.text, summary.tokens);
        }
        if !written.is_empty() {
            self.reader.cycle(tracker, call, &dropped);
        }
        if let Some(firing) = self.firings.look(request, folds, &written) {
            let there = dropped.iter().filter(|id| tracker.has(**id));
            firing.still_there = there.count() as u64;
            firing.dropped = dropped.len() as u64;
        }
    }
}

impl Probe for Measures {
    fn call(&mut self, request: &Request<'_>) {
        self.update(request);
        self.lives.look(request);
        self.offsets.look(request);
        let meter = request.meter;
        self.calls.push(Call {
            input: meter.frame_tokens() + meter.view_tokens(),
            output: request.answer.map_or(0, |answer| output_tokens(meter, answer)),
            ceiling: request.conversation.limits().request_ceiling(),
            fired: request.delta.is_folded(),
        });
    }

    /// No request has what was appended or folded since the last one, so it ends no life; but a
    /// summary that was written is one.
    fn end(&mut self, request: &Request<'_>) {
        self.update(request);
    }
}
