//! One session under one strategy: everything that was measured, in the form that the store keeps.

use super::bill::Bills;
use crate::fault::Fault;
use crate::judge::measures::Firing;
use crate::judge::retention::{self, Retention};
use crate::run::totals::{CallRow, SessionMetrics};
use crate::stats::Share;
use derive_more::AddAssign;
use foldback_core::Limits;
use serde::{Deserialize, Serialize};

/// Why a strategy did nothing in a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inaction {
    /// Why, at the moment when it came nearest.
    pub why: String,
    /// A window at which it would have acted, if there is one.
    pub window: Option<u64>,
}

/// What of a session under a preset is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knowledge {
    /// Every request with what it held.
    #[default]
    Everything,
    /// The same, but for summaries that only their provider can read: what is found beside them is the least of what was held.
    Least,
    /// How large the requests were and what was read from the cache; not what they held.
    Sizes,
    /// Nothing; the session counts for nothing under this preset.
    Nothing,
    /// Nothing, since its replay failed. The session counts for nothing under this preset, and what is said of the preset is
    /// said of the other sessions.
    Failed,
}

impl Knowledge {
    /// Whether the session counts under the preset.
    pub(crate) fn counts(self) -> bool {
        !matches!(self, Self::Nothing | Self::Failed)
    }
}

/// What a replay gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What the rest is worth.
    pub known: Knowledge,
    /// Limits that were in force.
    pub limits: Limits,
    /// Totals.
    pub metrics: SessionMetrics,
    /// One row per call.
    pub rows: Vec<CallRow>,
    /// Calls after a failure whose view shows the latest one.
    pub last_error: Share,
    /// What its summaries are worth.
    pub summaries: Summaries,
    /// What it cost, by regime.
    pub bills: Bills,
    /// Why it did nothing, where it did nothing.
    pub inaction: Option<Inaction>,
    /// Why there is no more, where the replay failed.
    pub fault: Option<Fault>,
}

/// What the summaries of a replay are worth.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summaries {
    /// Identifiers in them, and how many of those are in what was summarized.
    pub faithful: Share,
    /// Summaries that a summarizer was asked for.
    pub asked: u64,
    /// Summaries that are the recorder's own.
    pub recorded: u64,
    /// Folds that had to do with a stand-in for a summary, or without.
    pub stand_ins: u64,
    /// Folds with a summary that the model wrote in another form than was asked for.
    pub formless: u64,
}

impl Summaries {
    pub(super) fn new(firings: &[Firing], supported: &[Share]) -> Self {
        let sum = |of: fn(&Firing) -> u64| firings.iter().map(of).sum();
        Self {
            faithful: retention::sum(supported),
            asked: sum(|firing| firing.summaries),
            recorded: sum(|firing| firing.recorded),
            stand_ins: sum(|firing| firing.stand_ins),
            formless: sum(|firing| firing.formless),
        }
    }
}

impl Record {
    /// The record of a replay that failed.
    pub(super) fn failed(limits: Limits, fault: Fault) -> Self {
        Self { known: Knowledge::Failed, limits, fault: Some(fault), ..Self::default() }
    }

    /// Number of the first call before which the strategy changed something.
    pub(crate) fn first_fired(&self) -> Option<usize> {
        self.rows.iter().find(|row| !row.fired.is_empty()).map(|row| row.call)
    }

    /// Where the exam of retention begins for all strategies that are compared on a session: at the first call before
    /// which any of them changed something. `None` where none did. Before that nothing can be lost, and a start of its
    /// own would let each strategy choose its exam.
    pub fn exam_start(records: &[Self]) -> Option<usize> {
        records.iter().filter_map(Self::first_fired).min()
    }

    /// What the calls from `start` on needed, and how much of it was in the view.
    pub(super) fn retention(&self, start: Option<usize>) -> Retention {
        let mut sum = Retention::default();
        let counted = self.rows.iter().filter(|row| start.is_some_and(|start| row.call >= start));
        counted.for_each(|row| sum.add(&row.retention));
        sum
    }
}
