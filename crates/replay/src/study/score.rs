//! What is left of a record when all strategies have replayed its session: counts and sums of fixed
//! size, so that a comparison of any number of sessions fits into memory.

use super::Context;
use super::bill::Bills;
use super::facts::Facts;
use super::record::{Inaction, Known, Record};
use crate::availability::{MustKeep, Retention, Share, score};
use crate::measures::MeasureTotals;
use crate::measures::firings::FiringTotals;
use crate::measures::summaries::SummaryTotals;
use crate::scale::Scale;
use crate::totals::{CallRow, CallTotals, Dropped, SessionMetrics};
use crate::verbatim::Kept;
use foldback_core::counters::Counters;
use std::ops::Deref;
use std::sync::Arc;

/// Retention over one set of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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

/// One session under one strategy. A comparison keeps one of every session and preset.
#[derive(Clone, Debug, Default)]
pub struct Score {
    session: u32,
    preset: u32,
    setting: Arc<Setting>,
    outcome: Arc<Outcome>,
}

/// Under what a strategy was replayed, and why it did nothing there, where it did nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Setting {
    window: u64,
    inaction: Option<Inaction>,
}

/// What came of it. Strategies of which the same came share one: in a short session all do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What of the session is known under the preset.
    pub known: Known,
    /// Totals.
    pub metrics: CallTotals,
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
    /// Size, half-life, position.
    pub measures: MeasureTotals,
    /// What compactions did.
    pub effects: Arc<Effects>,
    /// Bills by regime.
    pub bills: Bills,
}

/// What compactions did in a session. Most sessions have none, and share this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// What left the view.
    pub dropped: Dropped,
    /// The conversation's own counters.
    pub counters: Counters,
    /// Over every change of the view.
    pub firings: FiringTotals,
    /// Over every summary.
    pub summaries: SummaryTotals,
    /// What a random eviction kept at the same sizes.
    pub random: Shadow,
    /// What a clairvoyant one kept.
    pub clairvoyant: Shadow,
}

impl Deref for Score {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.outcome
    }
}

#[cfg(test)]
impl Outcome {
    /// Memory that it takes for itself.
    pub(crate) fn bytes(&self) -> usize {
        let acted = *self.effects != Effects::default();
        COUNTS
            + size_of::<Self>()
            + self.bills.bytes()
            + self.measures.survival.bytes()
            + self.measures.size.gaps.capacity() * size_of::<(u64, u64)>()
            + if acted { COUNTS + size_of::<Effects>() } else { 0 }
    }
}

/// What an `Arc` keeps beside its value.
#[cfg(test)]
pub(crate) const COUNTS: usize = 2 * size_of::<usize>();

impl Score {
    /// What came of a session under a preset.
    pub fn new(session: usize, preset: usize, outcome: Outcome) -> Self {
        let (session, preset, outcome) = (narrow(session), narrow(preset), Arc::new(outcome));
        Self { session, preset, outcome, ..Self::default() }
    }

    /// The same of a preset that did nothing.
    #[must_use]
    pub fn because(mut self, inaction: Inaction) -> Self {
        let window = self.window();
        self.setting = Arc::new(Setting { window, inaction: Some(inaction) });
        self
    }

    /// Index into the sessions.
    pub fn session(&self) -> usize {
        self.session as usize
    }

    /// Sets the index into the sessions.
    pub(crate) fn place(&mut self, session: usize) {
        self.session = narrow(session);
    }

    /// Index into the presets.
    pub fn preset(&self) -> usize {
        self.preset as usize
    }

    /// The context window that was in force.
    pub fn window(&self) -> u64 {
        self.setting.window
    }

    /// Why it did nothing, where it did nothing.
    pub fn inaction(&self) -> Option<&Inaction> {
        self.setting.inaction.as_ref()
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
            common.exams.one(&Arc::new(Exam { references: score(references), edits, pieces }))
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
        let (mut measures, firings, summaries) = record.measures.totals();
        measures.positions = common.positions.one(&measures.positions);
        let SessionMetrics { totals, dropped, counters } = record.metrics;
        let mut effects = Effects { dropped, counters, firings, summaries, ..Effects::default() };
        // Where nothing was compacted, nobody asks what else could have been kept.
        if totals.compactions > 0 {
            effects.random = matched(&record.matched.random.references);
            effects.clairvoyant = matched(&record.matched.clairvoyant.references);
        }
        let effects = match effects == *common.no_effects {
            true => Arc::clone(&common.no_effects),
            false => Arc::new(effects),
        };
        let outcome = Outcome {
            known: record.known,
            exam: exam(&started),
            exam_before_recorder: exam(&faithful),
            calibrated_over: facts.session.scale.map(over),
            rereads: record.rereads.len() as u64,
            reread_tokens: record.rereads.iter().map(|row| row.tokens).sum(),
            metrics: totals,
            effects,
            must_keep: common.must_keep.one(&Arc::new(record.must_keep)),
            measures,
            bills: Bills::of(&record.bills, common, context.reported),
        };
        let same = others.iter().find(|other| *other.outcome == outcome);
        let outcome = same.map_or_else(|| Arc::new(outcome), |same| Arc::clone(&same.outcome));
        let setting = Setting { window: record.limits.context, inaction: record.inaction };
        let setting = common.settings.one(&Arc::new(setting));
        Self { session: 0, preset: narrow(others.len()), setting, outcome }
    }
}

/// There is no memory for as many sessions or presets as don't fit.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
