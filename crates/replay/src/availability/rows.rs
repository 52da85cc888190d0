//! What would have had to be read again.

/// Something that would have had to be read again: a result that had left the view and that a call
/// needed something of. One row per result and eviction, however many references miss it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RereadRow {
    /// Number of the first call that misses something of it.
    pub call: usize,
    /// Id of the tool result.
    pub source: String,
    /// Number of the first call whose view did not have it any more.
    pub left_view_at: usize,
    /// Size of the original result by the measuring estimator.
    pub tokens: u64,
}
