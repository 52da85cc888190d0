//! The test of two arms to which units were assigned by chance.

use super::rng::SplitMix64;

/// Assignments that are drawn.
const DRAWS: usize = 10_000;

/// The two-sided p-value of the difference between two arms: the share of all ways to assign the units of each block anew, as many of
/// them to either arm as were, that make it at least as large (Fisher 1935), by 10,000 draws and the assignment itself. `units` are the
/// block of each, whether it is of the first arm, and what it adds to a total and to what the total is divided by: 1 for a mean.
///
/// What is compared is by how much the units of the first arm exceed the ratio of both totals of their block, so that blocks do not
/// have to be alike. `None` where no block has units of both arms.
pub(crate) fn assigned(units: &[(usize, bool, [f64; 2])], seed: u64) -> Option<f64> {
    let blocks = units.iter().map(|(block, ..)| block + 1).max().unwrap_or(0);
    let mut excess: Vec<(Vec<f64>, usize)> = Vec::new();
    let (mut observed, mut sizes) = (0.0, 0.0);
    for block in 0..blocks {
        let of_block: Vec<_> = units.iter().filter(|unit| unit.0 == block).collect();
        let sum = |at: usize| of_block.iter().map(|(.., row)| row[at]).sum::<f64>();
        let ratio = if sum(1) == 0.0 { 0.0 } else { sum(0) / sum(1) };
        let first = of_block.iter().filter(|(_, first, _)| *first).count();
        if first == 0 || first == of_block.len() {
            continue;
        }
        let values = of_block.iter().map(|(_, first, row)| (*first, row[0] - ratio * row[1]));
        observed += values.clone().filter(|(first, _)| *first).map(|(_, value)| value).sum::<f64>();
        sizes += values.clone().map(|(_, value)| value.abs()).sum::<f64>();
        excess.push((values.map(|(_, value)| value).collect(), first));
    }
    if excess.is_empty() {
        return None;
    }
    // What rounding leaves of sums that are the same.
    let observed = f64::abs(observed) - sizes * 1e-9;
    let mut rng = SplitMix64::new(seed);
    let mut drawn = || -> f64 {
        let sums = excess.iter_mut().map(|(values, first)| {
            for at in 0..*first {
                let other = at + rng.below(values.len() - at);
                values.swap(at, other);
            }
            values[..*first].iter().sum::<f64>()
        });
        sums.sum()
    };
    let large = (0..DRAWS).filter(|_| drawn().abs() >= observed).count();
    Some((large + 1) as f64 / (DRAWS + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 70 ways to choose four of eight, counted by hand with `itertools.combinations` of Python: how many sums of the excess are as
    /// far from zero.
    #[test]
    fn p_values_are_shares_of_all_assignments() {
        let units = |first: &[f64], second: &[f64]| -> Vec<(usize, bool, [f64; 2])> {
            let first = first.iter().map(|value| (0, true, [*value, 1.0]));
            first.chain(second.iter().map(|value| (0, false, [*value, 1.0]))).collect()
        };
        for (first, second, expected) in [
            ([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], 2.0 / 70.0),
            ([1.0, 2.0, 3.0, 5.0], [4.0, 6.0, 7.0, 8.0], 4.0 / 70.0),
            ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], 1.0),
        ] {
            let p = assigned(&units(&first, &second), 1).unwrap();
            assert!((p - expected).abs() < 0.006, "{first:?} {second:?}: {p}");
        }
        assert_eq!(assigned(&units(&[1.0], &[]), 1), None);
    }

    /// A block whose units are all large and in which the arms are not equally many makes no difference by itself.
    #[test]
    fn blocks_are_kept() {
        let large = (0..12).map(|at| (1, at % 4 != 0, [100.0 + f64::from(at % 3), 1.0]));
        let small = (0..12).map(|at| (0, at % 4 == 0, [1.0 + f64::from(at % 3), 1.0]));
        let units: Vec<_> = small.chain(large).collect();
        let apart = assigned(&units, 1).unwrap();
        let together: Vec<_> = units.iter().map(|unit| (0, unit.1, unit.2)).collect();
        assert!(apart > 0.3 && assigned(&together, 1).unwrap() < 0.05, "{apart}");
    }
}
