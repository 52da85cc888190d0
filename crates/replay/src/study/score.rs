//! What is left of a record when all strategies have replayed its session: counts and sums of fixed
//! size, so that a comparison of any number of sessions fits into memory.

use super::Context;
use super::bill::Bill;
use super::facts::Facts;
use super::record::{Inaction, Known, Record};
use crate::availability::{MustKeep, Retention, Share, score};
use crate::measures::MeasureTotals;
use crate::scale::Scale;
use crate::totals::{CallRow, SessionMetrics};
use crate::verbatim::Kept;
use std::ops::Deref;
use std::sync::Arc;

/// Retention over one set of calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exam {
    /// Of references.
    pub references: Retention,
    /// Of the old texts of edits.
    pub edits: Share,
    /// Of what was reused word for word.
    pub pieces: Kept,
}

/// Retention of a control that is matched to a strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shadow {
    /// Of all references.
    pub frr: Share,
    /// Of those that had only stood in what tools and users said.
    pub frr_obs: Share,
}

/// One session under one strategy.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Index into the sessions.
    pub session: usize,
    /// Index into the presets.
    pub preset: usize,
    /// The context window that was in force.
    pub window: u64,
    /// Why it did nothing, where it did nothing.
    pub inaction: Option<Arc<Inaction>>,
    outcome: Arc<Outcome>,
}

/// What came of it. Strategies of which the same came share one: in a short session all do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What of the session is known under the preset.
    pub known: Known,
    /// Totals.
    pub metrics: SessionMetrics,
    /// Over the calls from the first on before which any strategy had fired; empty where none had.
    pub exam: Arc<Exam>,
    /// The same without the calls after a compaction of the recorder's own.
    pub exam_before_recorder: Arc<Exam>,
    /// Requests that were sent with a calibrated size over the ceiling; `None` where the session has no scale.
    pub calibrated_over: Option<u64>,
    /// Results that would have had to be read again.
    pub rereads: u64,
    /// Their size.
    pub reread_tokens: u64,
    /// What must be kept.
    pub must_keep: Arc<MustKeep>,
    /// Size, firings, half-life, summaries, position.
    pub measures: MeasureTotals,
    /// What a random eviction kept at the same sizes.
    pub random: Shadow,
    /// What a clairvoyant one kept.
    pub clairvoyant: Shadow,
    /// Bills by regime.
    pub bills: Box<[Bill]>,
}

impl Deref for Score {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.outcome
    }
}

impl Score {
    /// What came of a session under a preset.
    pub fn new(session: usize, preset: usize, outcome: Outcome) -> Self {
        Self { session, preset, outcome: Arc::new(outcome), ..Self::default() }
    }

    /// The bills under a regime.
    pub(crate) fn bills_under(&self, regime: &str) -> impl Iterator<Item = &Bill> {
        self.bills.iter().filter(move |bill| *bill.regime == *regime)
    }

    /// Reduces a record. `start` is where the exam begins, the same for all strategies. What came of `others`, the
    /// presets before it, is kept once where the same came of this one.
    pub(super) fn of(
        facts: &Facts,
        record: Record,
        start: Option<usize>,
        others: &[Self],
        context: &Context<'_>,
    ) -> Self {
        let common = &context.common;
        let exam = |counts: &dyn Fn(usize) -> bool| {
            if start.is_none() {
                return Arc::clone(&common.no_exam);
            }
            let references = facts.references.iter().zip(&record.references);
            let mut edits = Share::default();
            for (edit, kept) in facts.edits.iter().zip(&record.edits) {
                if counts(edit.call) {
                    edits.count(*kept);
                }
            }
            let mut pieces = Kept::default();
            for (piece, kept) in facts.pieces.iter().zip(&record.pieces) {
                if counts(piece.call) {
                    pieces.count(piece, *kept);
                }
            }
            let references = references.filter(|(reference, _)| counts(reference.call));
            Arc::new(Exam { references: score(references), edits, pieces })
        };
        let exams =
            |other: &Self| [Arc::clone(&other.exam), Arc::clone(&other.exam_before_recorder)];
        let mut exams: Vec<Arc<Exam>> = others.iter().flat_map(exams).collect();
        let mut once = |exam: Arc<Exam>| {
            let known = exams.iter().find(|known| **known == exam).cloned();
            known.unwrap_or_else(|| {
                exams.push(Arc::clone(&exam));
                exam
            })
        };
        let started = |call: usize| start.is_some_and(|start| call >= start);
        let faithful = |call: usize| {
            let calls = facts.calls.get(call);
            started(call) && calls.is_some_and(|call| !call.recorder_compacted)
        };
        let matched = |kept: &[bool]| {
            let mut shadow = Shadow::default();
            for (reference, kept) in facts.references.iter().zip(kept) {
                if started(reference.call) {
                    shadow.frr.count(*kept);
                    if reference.obs {
                        shadow.frr_obs.count(*kept);
                    }
                }
            }
            shadow
        };
        let over = |scale: Scale| {
            let rows = record.rows.iter();
            let over = |ceiling, row: &CallRow| scale.request(row.input_tokens) > ceiling;
            rows.filter(|row| row.ceiling.is_some_and(|ceiling| over(ceiling, row))).count() as u64
        };
        let mut measures = record.measures.totals();
        measures.positions = common.positions.one(&measures.positions);
        // All of this is kept of every session, and one regime's ledger is read.
        let mut bills = record.bills;
        for bill in &mut bills {
            bill.regime = common.regimes.one(&bill.regime);
            if let Some(compaction) = &mut bill.compaction
                && *bill.regime != *context.reported
            {
                compaction.ledger = Box::default();
            }
        }
        let outcome = Outcome {
            known: record.known,
            random: matched(&record.matched.random.references),
            clairvoyant: matched(&record.matched.clairvoyant.references),
            exam: once(exam(&started)),
            exam_before_recorder: once(exam(&faithful)),
            calibrated_over: facts.session.scale.map(over),
            rereads: record.rereads.len() as u64,
            reread_tokens: record.rereads.iter().map(|row| row.tokens).sum(),
            metrics: record.metrics,
            must_keep: common.must_keep.one(&Arc::new(record.must_keep)),
            measures,
            bills,
        };
        let same = others.iter().find(|other| *other.outcome == outcome);
        let outcome = same.map_or_else(|| Arc::new(outcome), |same| Arc::clone(&same.outcome));
        let inaction = record.inaction.map(|inaction| common.reasons.one(&Arc::new(inaction)));
        Self { session: 0, preset: others.len(), window: record.limits.context, inaction, outcome }
    }
}
