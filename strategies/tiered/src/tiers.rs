//! Which messages are shown raw, and which are summarized how hard?
//!
//! Messages that are not residuals are put in four tiers by their distance from the newest one.
//! With the document's sizes 10, 25 and 50: tier 0 is the last ten, raw; tier 1 the fifteen before
//! them, tier 2 the twenty-five before those, and tier 3 everything older.

use std::collections::HashMap;
use std::ops::Range;

/// Number of tiers.
pub const TIERS: usize = 4;

/// Distances from the newest message at which a tier ends: tier 0 holds the distances below
/// `edges[0]`, tier 1 those below `edges[1]`, tier 2 those below `edges[2]`, tier 3 the rest.
pub type Edges = [usize; 3];

/// The tier of a message by its distance from the newest.
pub fn tier_at(distance: usize, edges: Edges) -> usize {
    edges.iter().position(|edge| distance < *edge).unwrap_or(TIERS - 1)
}

/// The tier of each message. `groups` names the group of each message, oldest first; a group that an
/// edge would cut stays whole on the newer side.
pub fn assign(groups: &[usize], edges: Edges) -> Vec<usize> {
    let mut tier_of_group: HashMap<usize, usize> = HashMap::new();
    let mut tiers: Vec<usize> = groups
        .iter()
        .rev()
        .enumerate()
        .map(|(distance, group)| {
            // Walking from the newest, a group is first met at its newest message.
            *tier_of_group.entry(*group).or_insert_with(|| tier_at(distance, edges))
        })
        .collect();
    tiers.reverse();
    tiers
}

/// The document's own slices over `n` messages. With a first size of 0, `slice(-0)` is everything,
/// so the ranges may overlap.
pub fn slices_exact(n: usize, sizes: Edges) -> [Range<usize>; TIERS] {
    let [raw, light, medium] = sizes.map(|size| -i64::try_from(size).unwrap_or(i64::MAX));
    [
        slice(n, raw, None),
        slice(n, light, Some(raw)),
        slice(n, medium, Some(light)),
        slice(n, 0, Some(medium)),
    ]
}

/// JavaScript's `Array.prototype.slice`: negative indices count from the end, and -0 is 0.
fn slice(n: usize, start: i64, end: Option<i64>) -> Range<usize> {
    let index = |at: i64| match usize::try_from(at) {
        Ok(at) => at.min(n),
        Err(_) => n.saturating_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let start = index(start);
    start..end.map_or(n, index).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stay_on_the_newer_side_of_an_edge() {
        let edges = [2, 3, 4];
        let cases: [(&[usize], &[usize]); 5] = [
            (&[0, 1, 2, 3, 4], &[3, 2, 1, 0, 0]),
            (&[0, 1, 1, 2], &[2, 0, 0, 0]),
            // The group of four reaches into tier 0, so tier 0 has five messages.
            (&[0, 1, 1, 1, 1, 2], &[3, 0, 0, 0, 0, 0]),
            // A message between a call and its result keeps its own tier.
            (&[5, 6, 5, 7], &[0, 1, 0, 0]),
            (&[], &[]),
        ];
        for (groups, expect) in cases {
            assert_eq!(assign(groups, edges), expect, "{groups:?}");
        }
    }

    #[test]
    fn a_first_size_of_zero() {
        assert_eq!(slices_exact(60, [0, 25, 50]), [0..60, 35..35, 10..35, 0..10]);
        let tiers = assign(&(0..60).collect::<Vec<_>>(), [0, 25, 50]);
        let sizes = [0, 1, 2, 3].map(|tier| tiers.iter().filter(|t| **t == tier).count());
        assert_eq!(sizes, [0, 25, 25, 10]);
    }
}
