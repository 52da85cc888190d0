//! The front of cost against retention: what nothing else beats on both.

use serde::Serialize;

/// Where a configuration stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Bill to that of no compaction; less is better.
    pub cost: f64,
    /// Share of the references that were kept; more is better.
    pub kept: f64,
}

impl Point {
    /// At least as good on both axes and better on one.
    pub fn dominates(self, other: Self) -> bool {
        self.cost <= other.cost
            && self.kept >= other.kept
            && (self.cost < other.cost || self.kept > other.kept)
    }
}

/// Ranks by non-dominated sorting (Srinivas and Deb, Evolutionary Computation 2(3), 1994): 0 for what
/// nothing dominates, 1 for what nothing but rank 0 does, and so on. Points that are alike share a rank.
/// `None` for what has no place.
pub fn ranks(points: &[Option<Point>]) -> Vec<Option<usize>> {
    let mut ranks: Vec<Option<usize>> = vec![None; points.len()];
    let mut left: Vec<(usize, Point)> = points
        .iter()
        .enumerate()
        .filter_map(|(at, point)| Some((at, (*point)?)))
        .filter(|(_, point)| point.cost.is_finite() && point.kept.is_finite())
        .collect();
    let mut rank = 0;
    while !left.is_empty() {
        let (beaten, front): (Vec<_>, Vec<_>) = left
            .iter()
            .partition(|(_, point)| left.iter().any(|(_, other)| other.dominates(*point)));
        for (at, _) in front {
            ranks[at] = Some(rank);
        }
        left = beaten;
        rank += 1;
    }
    ranks
}
