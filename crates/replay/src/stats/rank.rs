//! The Wilcoxon signed-rank test and the shift that belongs to it.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

/// Up to this many differences the p-value is exact.
const EXACT: usize = 50;

/// Result of a signed-rank test of paired differences against "symmetric about zero".
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SignedRank {
    /// Sum of the ranks of the positive differences.
    pub w_plus: f64,
    /// Differences that are not zero; the others are left out (Wilcoxon 1945).
    pub n: usize,
    /// Two-sided p-value.
    pub p: f64,
    /// Whether the p-value is exact: up to 50 differences. Beyond, a normal approximation with the
    /// correction for ties and none for continuity.
    pub exact: bool,
}

/// Tests paired differences. `None` when none differs from zero, or one is not a number.
///
/// Ties share the mean of their ranks. The exact distribution is that of the ranks as they are, ties
/// included, over all assignments of signs.
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    if differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let mut nonzero: Vec<f64> =
        differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    if nonzero.is_empty() {
        return None;
    }
    nonzero.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (doubled, ties) = doubled_ranks(&nonzero);
    let positive: u64 = nonzero
        .iter()
        .zip(&doubled)
        .filter(|(difference, _)| **difference > 0.0)
        .map(|(_, rank)| *rank)
        .sum();
    let exact = nonzero.len() <= EXACT;
    let p = if exact {
        exact_p(&doubled, positive)
    } else {
        normal_p(nonzero.len(), ties, positive as f64 / 2.0)
    };
    Some(SignedRank { w_plus: positive as f64 / 2.0, n: nonzero.len(), p, exact })
}

/// Median of all means of two (an element with itself included): the Hodges–Lehmann estimate (1963). `None` without
/// differences, or where one is not a number.
///
/// The means are counted and not made: their number grows with the square of the differences.
pub fn hodges_lehmann(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let mut sorted = differences.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let means = sorted.len() * (sorted.len() + 1) / 2;
    let upper = nth_mean(&sorted, means / 2);
    Some(match means % 2 {
        0 => f64::midpoint(nth_mean(&sorted, means / 2 - 1), upper),
        _ => upper,
    })
}

/// The mean of two that has `n` smaller ones, by bisection over the doubles.
fn nth_mean(sorted: &[f64], n: usize) -> f64 {
    // As integers in the order of the numbers; the other way round it is the same.
    let order = |bits: i64| bits ^ (((bits >> 63) as u64) >> 1) as i64;
    let at = |key: i64| f64::from_bits(order(key) as u64);
    let key = |value: f64| order(value.to_bits() as i64);
    let (mut low, mut high) = (key(sorted[0]), key(sorted[sorted.len() - 1]));
    while low < high {
        // Rounded down, without overflow.
        let middle = (low & high) + ((low ^ high) >> 1);
        if means_up_to(sorted, at(middle)) > n {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // Zero has two signs.
    at(low) + 0.0
}

/// How many means of two are no larger than `limit`.
fn means_up_to(sorted: &[f64], limit: f64) -> usize {
    let mut end = sorted.len();
    let mut count = 0;
    for (at, one) in sorted.iter().enumerate() {
        while end > at && (one + sorted[end - 1]) / 2.0 > limit {
            end -= 1;
        }
        count += end.saturating_sub(at);
    }
    count
}

/// Twice the rank of each value, which makes shared ranks whole, and `Σ (t³ - t)` over groups of ties.
fn doubled_ranks(by_size: &[f64]) -> (Vec<u64>, f64) {
    let mut ranks = Vec::with_capacity(by_size.len());
    let mut ties = 0.0;
    for group in by_size.chunk_by(|a, b| a.abs() == b.abs()) {
        let first = ranks.len() as u64 + 1;
        let last = first + group.len() as u64 - 1;
        ranks.extend(std::iter::repeat_n(first + last, group.len()));
        let size = group.len() as f64;
        ties += size.powi(3) - size;
    }
    (ranks, ties)
}

/// Counts the assignments of signs by their rank sum. Counts are exact in a double up to 2^53, and
/// beyond that relative to 1e-16.
fn exact_p(doubled: &[u64], positive: u64) -> f64 {
    let total: u64 = doubled.iter().sum();
    let mut ways = vec![0.0f64; total as usize + 1];
    ways[0] = 1.0;
    let mut reach = 0;
    for rank in doubled {
        let rank = *rank as usize;
        reach += rank;
        for sum in (rank..=reach).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all = (doubled.len() as f64).exp2();
    let positive = positive as usize;
    let below = ways[..=positive].iter().sum::<f64>() / all;
    let above = ways[positive..].iter().sum::<f64>() / all;
    (2.0 * below.min(above)).min(1.0)
}

fn normal_p(n: usize, ties: f64, w_plus: f64) -> f64 {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let z = (w_plus - mean).abs() / variance.sqrt();
    (2.0 * Normal::standard().sf(z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DISTINCT: &[f64] = &[1.1, 2.2, -0.3, 4.4, 5.5, -1.7, 0.9];
    const TIED: &[f64] = &[1.0, 1.0, -1.0, 2.0, 2.0, 3.0, -2.0, 0.0, 4.0];
    /// Heights of Darwin's self- and cross-fertilised maize, in eighths of an inch.
    const DARWIN: &[f64] =
        &[6.0, 8.0, 14.0, 16.0, 23.0, 24.0, 28.0, 29.0, 41.0, -48.0, 49.0, 56.0, 60.0, -67.0, 75.0];
    const FORTY: &[f64] = &[
        0.3, 0.6, 0.0, -0.6, -0.2, -0.7, 0.4, 1.6, -0.2, -0.3, 0.8, 0.7, 0.4, -0.6, 0.3, 1.0, -1.0,
        -0.2, -1.6, -1.0, -1.5, 0.1, -1.0, 0.6, 0.5, 0.1, -2.2, -0.2, 0.3, 0.4, -1.2, -0.2, -0.7,
        -0.5, 1.4, -0.5, 0.3, 1.2, -0.3, 0.2,
    ];

    /// SciPy 1.17.1: `stats.wilcoxon(d[d != 0], method=m)` with m = `PermutationMethod(inf)` for the
    /// exact and `"approx"` for the normal p-value (no exact one was made for 39 differences); W+
    /// from `stats.rankdata`; shift as `np.median` of the Walsh averages.
    #[test]
    fn tests_are_those_of_scipy() {
        let cases = [
            ("distinct", DISTINCT, 23.0, Some(0.15625), 0.128_190_174_345_107_85, 1.6),
            ("tied, with a zero", TIED, 29.0, Some(0.164_062_5), 0.119_794_930_425_918_32, 1.0),
            ("Darwin", DARWIN, 96.0, Some(0.041_259_765_625), 0.040_888_132_911_855_91, 25.0),
            ("forty", FORTY, 357.0, None, 0.644_723_563_556_065_4, -0.05),
        ];
        for (name, differences, w_plus, exact, approximate, shift) in cases {
            let ours = signed_rank(differences).unwrap();
            assert!((ours.w_plus - w_plus).abs() < 1e-12, "{name}: {ours:?}");
            let ours_shift = hodges_lehmann(differences).unwrap();
            assert!((ours_shift - shift).abs() < 1e-12, "{name}: {ours_shift}");
            assert!(ours.exact, "{name}: {ours:?}");
            if let Some(exact) = exact {
                assert!((ours.p - exact).abs() < 1e-12, "{name}: {ours:?}");
            } else {
                assert!((ours.p - approximate).abs() < 0.01, "{name}: {ours:?}");
            }
            let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
            sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
            let (_, ties) = doubled_ranks(&sorted);
            let normal = normal_p(sorted.len(), ties, ours.w_plus);
            assert!((normal - approximate).abs() < 1e-9, "{name}: {normal}");
        }
    }

    #[test]
    fn many_differences_are_approximated() {
        let many: Vec<f64> = (1..=60).map(|at| f64::from(at) - 25.0).collect();
        let ours = signed_rank(&many).unwrap();
        assert!(!ours.exact && ours.n == 59 && ours.p < 0.05, "{ours:?}");
    }

    #[test]
    fn nothing_to_test_gives_nothing() {
        for differences in [&[][..], &[0.0, 0.0], &[1.0, f64::NAN]] {
            assert_eq!(signed_rank(differences), None, "{differences:?}");
        }
        assert_eq!(hodges_lehmann(&[]), None);
    }

    proptest! {
        /// Against all means, made and sorted.
        #[test]
        fn the_shift_is_the_median_of_all_means(
            differences in prop::collection::vec(prop_oneof![-1e9..1e9, Just(0.0), -3.0..3.0], 1..40),
        ) {
            let mut means = Vec::new();
            for (at, one) in differences.iter().enumerate() {
                means.extend(differences[at..].iter().map(|other| (one + other) / 2.0));
            }
            means.sort_by(f64::total_cmp);
            let middle = means.len() / 2;
            let expected = match means.len() % 2 {
                0 => f64::midpoint(means[middle - 1], means[middle]),
                _ => means[middle],
            };
            prop_assert_eq!(hodges_lehmann(&differences), Some(expected));
        }
    }
}
