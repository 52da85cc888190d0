//! Counters of a run.

use serde::{Deserialize, Serialize};

/// What a conversation has done so far. Tokens are by the strategy's own estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// How often the policy said that the view is too large.
    pub overflow_detections: u64,
    /// How often a pruner changed something.
    pub prune_operations: u64,
    /// Content that pruners took out, as the original counts it: placeholders not taken off.
    pub tokens_pruned: u64,
    /// What pruners took off the view, net of placeholders.
    pub tokens_reclaimed: u64,
    /// Summaries that were committed.
    pub summaries: u64,
    /// Folds that moved messages out of the view.
    pub folds: u64,
    /// Compactions that failed.
    pub failures: u64,
    /// Sum of the view's tokens before each fold and each pruning that changed something.
    pub tokens_before_total: u64,
}
