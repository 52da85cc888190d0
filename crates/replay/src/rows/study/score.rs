//! What is left of a record when all strategies have replayed its session: counts and sums of fixed
//! size, so that a comparison of any number of sessions fits into memory.

use super::bill::Bills;
use super::common::Common;
use super::facts::Facts;
use super::record::{Inaction, Knowledge, Record, Summaries};
use crate::fault::{FailedReplay, Fault};
use crate::judge::retention::Retention;
use crate::number;
use crate::read::scale::Scale;
use crate::run::setup::Preset;
use crate::run::totals::{CallRow, SessionMetrics};
use crate::stats::Share;
use std::ops::Deref;
use std::sync::Arc;

/// One session under one preset. A comparison keeps one of each in memory, so what presets or sessions have in common is shared.
#[derive(Clone, Debug, Default)]
pub struct Score {
    session: u32,
    preset: u32,
    /// Why the preset did nothing, where it did nothing.
    pub inaction: Option<Arc<Inaction>>,
    outcome: Arc<Outcome>,
}

/// What a preset made of a session, in counts and sums. A [`Score`] gives it; presets with equal outcomes share one: in a short
/// session all do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What of the session is known under the preset.
    pub known: Knowledge,
    /// The context window that was in force.
    pub window: u64,
    /// Totals.
    pub metrics: SessionMetrics,
    /// What calls needed, and how much of it was in the view: over the calls from the first on before which any strategy
    /// had fired, so nothing where none had.
    pub retention: Retention,
    /// Of what only observations had said, and not recently, what calls needed from the first on before which the strategy itself
    /// had fired, and how much of that was in the view.
    pub since_acted: Share,
    /// Requests that were sent with a calibrated size over the ceiling; `None` where the session has no scale.
    pub calibrated_over: Option<u64>,
    /// Calls after a failure whose view shows the latest one.
    pub last_error: Share,
    /// What its summaries are worth.
    pub summaries: Summaries,
    /// Bills by regime.
    pub bills: Bills,
    /// Why the session could not be replayed, where it could not.
    pub fault: Option<Box<Fault>>,
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
        COUNTS + size_of::<Self>() + self.bills.bytes()
    }
}

/// What an `Arc` keeps beside its value.
#[cfg(test)]
pub(crate) const COUNTS: usize = 2 * size_of::<usize>();

impl Score {
    /// The outcome of a session under a preset, each by its index.
    pub fn new(session: usize, preset: usize, outcome: Outcome) -> Self {
        let (session, preset) = (number::next(session), number::next(preset));
        Self { session, preset, inaction: None, outcome: Arc::new(outcome) }
    }

    /// Index into the sessions.
    pub fn session(&self) -> usize {
        self.session as usize
    }

    /// Sets the index into the sessions.
    pub(crate) fn place(&mut self, session: usize) {
        self.session = number::next(session);
    }

    /// Index into the presets.
    pub fn preset(&self) -> usize {
        self.preset as usize
    }

    /// Reduces a record. `start` is where the exam begins, the same for all strategies. Presets with equal outcomes share one
    /// allocation: `others` are the presets before this one.
    pub(super) fn from_record(
        facts: &Facts,
        record: Record,
        start: Option<usize>,
        others: &[Self],
        common: &Common,
    ) -> Self {
        let over = |scale: Scale| {
            let rows = record.rows.iter();
            let over = |ceiling, row: &CallRow| scale.request(row.input_tokens) > ceiling;
            rows.filter(|row| row.ceiling.is_some_and(|ceiling| over(ceiling, row))).count() as u64
        };
        let outcome = Outcome {
            known: record.known,
            window: record.limits.context,
            metrics: record.metrics,
            retention: record.retention(start),
            since_acted: record.retention(record.first_fired()).obs_far,
            calibrated_over: facts.session.scale.map(over),
            last_error: record.last_error,
            summaries: record.summaries,
            bills: common.share(record.bills),
            fault: record.fault.map(Box::new),
        };
        let same = others.iter().find(|other| *other.outcome == outcome);
        let outcome = same.map_or_else(|| Arc::new(outcome), |same| Arc::clone(&same.outcome));
        let inaction = record.inaction.map(|inaction| common.inactions.one(&Arc::new(inaction)));
        Self { session: 0, preset: number::next(others.len()), inaction, outcome }
    }
}

/// The replays that failed among scores.
pub(crate) fn failed<'a>(
    scores: impl IntoIterator<Item = &'a Score>,
    session: &Arc<str>,
    presets: &[Preset],
) -> Vec<FailedReplay> {
    let of = |score: &Score| {
        let preset = presets.get(score.preset())?.strategy.label();
        Some(FailedReplay {
            session: Arc::clone(session),
            preset,
            fault: Fault::clone(score.fault.as_ref()?),
        })
    };
    scores.into_iter().filter_map(of).collect()
}
