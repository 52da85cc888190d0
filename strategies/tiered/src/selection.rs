//! Which messages bypass compression?
//!
//! A message is a residual if its score reaches the threshold. Two caps bound them: a share of the
//! *number of messages* when they are collected, and a share of the *tokens* in the budget. The
//! document names both in different places; both apply.
//!
//! Residuals are taken in units. A unit is a call with its results (a residual takes its whole group
//! along, else a call would stand without its result), and it is as important as its most important
//! message. In the document's own variant every message is a unit by itself.

use foldback_core::fraction::Fraction;

/// What is kept or demoted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Score of its most important message.
    pub score: u32,
    /// Indices of its messages, ascending.
    pub members: Vec<usize>,
    /// Tokens of all of them.
    pub tokens: u64,
}

/// What was chosen, as indices of messages, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// They stay as they are.
    pub kept: Vec<usize>,
    /// They reach the threshold, but a cap sends them to the tiers.
    pub demoted: Vec<usize>,
}

/// How many messages may be residuals: `ceil(percent * messages)`.
pub fn cap(messages: usize, percent: f64) -> usize {
    Fraction::from_number(percent).ceil_of(messages as u64) as usize
}

/// Keeps the highest-scoring units that fit both caps; of equals the more recent. A unit that does
/// not fit is passed over, a smaller one behind it may still fit. The result is in original order.
pub fn select(units: &[Unit], threshold: u32, cap: usize, token_cap: u64) -> Selection {
    let newest = |unit: &Unit| unit.members.last().copied().unwrap_or(0);
    let mut candidates: Vec<&Unit> = units.iter().filter(|unit| unit.score >= threshold).collect();
    candidates.sort_by_key(|unit| std::cmp::Reverse((unit.score, newest(unit))));
    let (mut messages, mut tokens) = (cap, token_cap);
    let mut selection = Selection::default();
    for unit in candidates {
        let fits = unit.members.len() <= messages && unit.tokens <= tokens;
        if fits {
            messages -= unit.members.len();
            tokens -= unit.tokens;
            selection.kept.extend(&unit.members);
        } else {
            selection.demoted.extend(&unit.members);
        }
    }
    selection.kept.sort_unstable();
    selection.demoted.sort_unstable();
    selection
}

/// The document's own extraction: messages in order, and if there are more than
/// `ceil(messages * percent)` in doubles, the first so many by score, left in the order of their
/// scores. What is cut off is in neither list.
pub fn extract_exact(scores: &[u32], threshold: u32, percent: f64) -> Vec<usize> {
    let mut residuals: Vec<usize> =
        (0..scores.len()).filter(|index| scores[*index] >= threshold).collect();
    let cap = (scores.len() as f64 * percent).ceil() as usize;
    if residuals.len() > cap {
        residuals.sort_by_key(|index| std::cmp::Reverse(scores[*index]));
        residuals.truncate(cap);
    }
    residuals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(index: usize, score: u32, tokens: u64) -> Unit {
        Unit { score, members: vec![index], tokens }
    }

    #[test]
    fn selections_as_a_table() {
        let group = Unit { score: 70, members: vec![2, 3, 4], tokens: 30 };
        // name, units, cap, token cap, kept, demoted
        type Case = (&'static str, Vec<Unit>, usize, u64, Vec<usize>, Vec<usize>);
        let cases: [Case; 8] = [
            ("below the threshold", vec![single(0, 59, 1)], 9, 9, vec![], vec![]),
            ("at the threshold", vec![single(0, 60, 1)], 9, 9, vec![0], vec![]),
            (
                "the higher score, in original order",
                vec![single(0, 90, 1), single(1, 60, 1), single(2, 95, 1)],
                2,
                9,
                vec![0, 2],
                vec![1],
            ),
            (
                "of equals the more recent",
                vec![single(0, 60, 1), single(1, 60, 1), single(2, 60, 1)],
                2,
                9,
                vec![1, 2],
                vec![0],
            ),
            (
                "tokens cap as well",
                vec![single(0, 60, 5), single(1, 80, 5)],
                9,
                9,
                vec![1],
                vec![0],
            ),
            (
                "as long as they fit together",
                vec![single(0, 60, 6), single(1, 80, 2)],
                9,
                9,
                vec![0, 1],
                vec![],
            ),
            (
                "a group is kept whole",
                vec![single(0, 60, 1), group.clone()],
                4,
                99,
                vec![0, 2, 3, 4],
                vec![],
            ),
            (
                "a group that does not fit is passed over",
                vec![single(0, 60, 1), group],
                2,
                99,
                vec![0],
                vec![2, 3, 4],
            ),
        ];
        for (name, units, cap, token_cap, kept, demoted) in cases {
            assert_eq!(select(&units, 60, cap, token_cap), Selection { kept, demoted }, "{name}");
        }
    }

    #[test]
    fn the_document_leaves_them_in_score_order_and_the_earlier_of_equals_wins() {
        let cases: [(&[u32], &[usize]); 4] = [
            // No more than may be: in their own order.
            (&[0, 60, 0, 90, 0, 0, 0, 0, 0, 0], &[1, 3]),
            (&[60, 0, 0, 0, 90], &[4]),
            (&[60, 0, 90, 0, 0, 0, 0, 60, 0, 95], &[9, 2]),
            (&[60, 0, 0, 0, 60], &[0]),
        ];
        for (scores, expect) in cases {
            assert_eq!(extract_exact(scores, 60, 0.20), expect, "{scores:?}");
        }
    }
}
