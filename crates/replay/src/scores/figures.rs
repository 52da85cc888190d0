//! The main figures of a session under a preset, so that a part can be looked into as a table.

use crate::study::Score;
use serde::{Deserialize, Serialize};

/// Sums over the calls of a session under a preset. Each is the sum of the column of this name over the rows that `compare --rows`
/// has of the two, but for `context`, which is the same in all of them, and `calls` and `compactions`. What was needed and kept is
/// summed over the calls from the first one on before which any preset of the part had changed something.
///
/// No comparison is made from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Window in force, in tokens.
    pub context: u64,
    /// Recorded calls.
    pub calls: u64,
    /// How often something changed the view: folds and prunings.
    pub compactions: u64,
    /// Size of the requests.
    pub input_tokens: u64,
    /// What a cache without expiry held of them.
    pub cache_read: u64,
    /// What was in it and had to be written again.
    pub churn: u64,
    /// Requests that the provider would have refused.
    pub overflow: u64,
    /// References of the calls.
    pub frr_needed: u64,
    /// Those in the view.
    pub frr_kept: u64,
    /// References that only tools and users had said, last seen more than three calls ago.
    pub frr_obs_far_needed: u64,
    /// Those in the view.
    pub frr_obs_far_kept: u64,
    /// Old texts of edits.
    pub epr_needed: u64,
    /// Those in the view.
    pub epr_kept: u64,
    /// Pieces reused word for word, last seen more than three calls ago.
    pub verbatim_far_needed: u64,
    /// Those in the view.
    pub verbatim_far_kept: u64,
    /// Results that would have been read again.
    pub rereads: u64,
    /// Their size.
    pub reread_tokens: u64,
}

impl Figures {
    pub(super) fn of(score: &Score) -> Self {
        let (totals, exam) = (&score.metrics, &score.exam);
        Self {
            context: score.window(),
            calls: totals.calls,
            compactions: totals.compactions,
            input_tokens: totals.input_tokens,
            cache_read: totals.cache_read_tokens,
            churn: totals.churn_tokens,
            overflow: totals.overflow_calls,
            frr_needed: exam.references.frr.needed,
            frr_kept: exam.references.frr.kept,
            frr_obs_far_needed: exam.references.frr_obs_far.needed,
            frr_obs_far_kept: exam.references.frr_obs_far.kept,
            epr_needed: exam.edits.needed,
            epr_kept: exam.edits.kept,
            verbatim_far_needed: exam.pieces.far.needed,
            verbatim_far_kept: exam.pieces.far.kept,
            rereads: score.rereads,
            reread_tokens: score.reread_tokens,
        }
    }
}
