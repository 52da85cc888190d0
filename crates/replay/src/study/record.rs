//! One session under one strategy: everything that was measured, in the form that the store keeps.

use super::bill::Bill;
use crate::availability::{MustKeep, Presence, RereadRow};
use crate::controls::Matched;
use crate::cost::SummaryCall;
use crate::measures::SessionMeasures;
use crate::totals::{CallRow, SessionMetrics};
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
pub enum Known {
    /// Every request with what it held.
    #[default]
    Everything,
    /// How large the requests were and what was read from the cache; not what they held.
    Sizes,
    /// Nothing; the session counts for nothing under this preset.
    Nothing,
}

/// What a replay gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What the rest is worth.
    pub known: Known,
    /// Limits that were in force.
    pub limits: Limits,
    /// Totals.
    pub metrics: SessionMetrics,
    /// One row per call.
    pub rows: Vec<CallRow>,
    /// One entry per reference of the session.
    pub references: Vec<Presence>,
    /// By edit of the session, whether its old text was in the view.
    pub edits: Vec<bool>,
    /// By piece that the session reuses, whether it was in the view.
    pub pieces: Vec<bool>,
    /// What would have had to be read again.
    pub rereads: Vec<RereadRow>,
    /// What must be kept.
    pub must_keep: MustKeep,
    /// Size, firings, half-life, summaries, position.
    pub measures: SessionMeasures,
    /// What a random and a clairvoyant eviction would have kept at the same sizes.
    pub matched: Matched,
    /// What it cost, by regime.
    pub bills: Box<[Bill]>,
    /// The requests for summaries, taken or not.
    pub summaries: Vec<SummaryCall>,
    /// Why it did nothing, where it did nothing.
    pub inaction: Option<Inaction>,
}

impl Record {
    /// Number of the first call before which the strategy changed something.
    pub fn first_fired(&self) -> Option<usize> {
        self.rows.iter().find(|row| !row.fired.is_empty()).map(|row| row.call)
    }
    /// Where the exam of retention begins for all strategies that are compared on a session: at the first
    /// call before which any of them changed something. `None` where none did.
    pub fn exam_start(records: &[Self]) -> Option<usize> {
        records.iter().filter_map(Self::first_fired).min()
    }
}
