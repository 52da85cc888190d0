//! Which tool returns go, over plain numbers.
//!
//! The returns are walked from the newest to the oldest and their sizes added up. Where the sum first
//! exceeds what is protected, that return and everything older is a candidate. The candidates go if
//! they come to the minimum together. Returns that were cleared before take part in both sums with the
//! size of the placeholder.

/// The two thresholds, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// The newest returns stay as long as their sum is not above this.
    pub protect: u64,
    /// The older ones go only if they come to this much.
    pub minimum: u64,
}

/// What the walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Walk<T> {
    /// There is no tool return.
    NoReturns,
    /// All returns together are not above what is protected.
    Protected {
        /// Sum of all sizes.
        sum: u64,
    },
    /// What lies beyond the boundary is not worth it.
    BelowMinimum {
        /// Sum of the sizes beyond the boundary.
        prunable: u64,
    },
    /// These go.
    Prune {
        /// Newest first; the first one is the one that crossed the boundary.
        returns: Vec<T>,
        /// Sum of their sizes.
        prunable: u64,
    },
}

/// Walks returns with their sizes, newest first.
pub fn walk<T>(
    newest_first: impl IntoIterator<Item = (T, u64)>,
    thresholds: Thresholds,
) -> Walk<T> {
    let mut sum = 0_u64;
    let mut prunable = 0_u64;
    let mut any = false;
    let mut returns = Vec::new();
    for (item, tokens) in newest_first {
        any = true;
        sum += tokens;
        // The sum never falls, so everything after the first one beyond the boundary is beyond it too.
        if sum > thresholds.protect {
            returns.push(item);
            prunable += tokens;
        }
    }
    if !any {
        Walk::NoReturns
    } else if returns.is_empty() {
        Walk::Protected { sum }
    } else if prunable < thresholds.minimum {
        Walk::BelowMinimum { prunable }
    } else {
        Walk::Prune { returns, prunable }
    }
}
