//! The estimates that a table prints, each over sessions.

use super::bootstrap::{Bootstrap, Estimate};
use crate::retention::Share;

/// A session measured under two strategies; `base` is the one compared against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Number of the task or repository, or of the session where neither is known.
    pub cluster: usize,
    /// Under the strategy.
    pub value: f64,
    /// Under the strategy compared against.
    pub base: f64,
}

/// `Σ value / Σ base`: the bill. Long sessions weigh most. Null: 1.
pub fn ratio_of_totals(bootstrap: &Bootstrap, pairs: impl IntoIterator<Item = Pair>) -> Estimate {
    let rows = pairs.into_iter().map(|pair| (pair.cluster, [pair.value, pair.base]));
    bootstrap.of_sums(rows, Some(1.0), |sums| divide(sums[0], sums[1]))
}

/// Mean of a value, given with the cluster of its session. Null: 0.
pub fn mean(bootstrap: &Bootstrap, values: impl IntoIterator<Item = (usize, f64)>) -> Estimate {
    let rows = values.into_iter().map(|(cluster, value)| (cluster, [value, 1.0]));
    bootstrap.of_sums(rows, Some(0.0), |sums| divide(sums[0], sums[1]))
}

/// `Σ kept / Σ needed`: a proportion pooled over sessions, each given with its cluster. It is not tested against anything.
pub fn proportion(
    bootstrap: &Bootstrap,
    shares: impl IntoIterator<Item = (usize, Share)>,
) -> Estimate {
    let shares = shares.into_iter();
    let rows = shares.map(|(cluster, share)| (cluster, [share.kept as f64, share.needed as f64]));
    bootstrap.of_sums(rows, None, |sums| divide(sums[0], sums[1]))
}

/// Difference of two pooled proportions of the same sessions, each session given with its cluster and both. Null: 0.
pub fn proportion_difference(
    bootstrap: &Bootstrap,
    shares: impl IntoIterator<Item = (usize, [Share; 2])>,
) -> Estimate {
    let rows = shares.into_iter().map(|(cluster, [a, b])| {
        (cluster, [a.kept, a.needed, b.kept, b.needed].map(|count| count as f64))
    });
    bootstrap.of_sums(rows, Some(0.0), |sums| {
        Some(divide(sums[0], sums[1])? - divide(sums[2], sums[3])?)
    })
}

fn divide(above: f64, below: f64) -> Option<f64> {
    (below != 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 10] = [1.2, 0.7, 3.4, 2.2, 5.1, 0.3, 2.8, 4.0, 1.9, 2.5];
    const BASES: [f64; 10] = [2.0, 1.0, 3.0, 4.0, 4.5, 1.0, 3.5, 3.9, 2.0, 2.6];

    fn pairs() -> Vec<Pair> {
        (0..10).map(|at| Pair { cluster: at, value: VALUES[at], base: BASES[at] }).collect()
    }

    type Estimator = fn(&Bootstrap, Vec<Pair>) -> Estimate;

    /// SciPy 1.17.1: `stats.bootstrap((value, base), statistic, paired=True, method="percentile",
    /// n_resamples=200000, rng=1)`: value, lower, upper, standard error.
    const REFERENCE: [(&str, Estimator, [f64; 4]); 2] = [
        (
            "ratio of totals",
            ratio_of_totals,
            [0.876_363_636_363_636_2, 0.705_628, 1.014_663, 0.079_615],
        ),
        (
            "mean difference",
            |bootstrap, pairs| {
                let difference = |pair: Pair| (pair.cluster, pair.value - pair.base);
                mean(bootstrap, pairs.into_iter().map(difference))
            },
            [-0.34, -0.77, 0.04, 0.208_159],
        ),
    ];

    #[test]
    fn intervals_are_those_of_scipy() {
        let bootstrap = Bootstrap::new(50_000, 42);
        for (name, estimator, [value, lo, hi, se]) in REFERENCE {
            let ours = estimator(&bootstrap, pairs());
            assert!((ours.value.unwrap() - value).abs() < 1e-12, "{name}: {ours:?}");
            // Two runs of a bootstrap differ by chance; a tenth of a standard error is well above it.
            for (end, expected) in [(ours.lo, lo), (ours.hi, hi), (ours.se, se)] {
                assert!((end.unwrap() - expected).abs() < se / 10.0, "{name}: {ours:?}");
            }
            assert_eq!((ours.n, ours.clusters), (10, 10), "{name}");
        }
    }

    #[test]
    fn proportions_are_pooled_over_sessions() {
        let of = |kept: [u64; 4]| kept.into_iter().zip([10, 100, 50, 40]);
        let of = |kept| of(kept).map(|(kept, needed)| Share { kept, needed }).collect::<Vec<_>>();
        let bootstrap = Bootstrap::default();
        let (better, worse) = (of([9, 90, 45, 36]), of([5, 60, 20, 16]));
        let both = |other: &[Share]| {
            let both = better.iter().zip(other).map(|(a, b)| [*a, *b]);
            both.enumerate().collect::<Vec<_>>()
        };
        let one = proportion(&bootstrap, better.iter().copied().enumerate());
        assert!((one.value.unwrap() - 0.9).abs() < 1e-12, "{one:?}");
        assert_eq!(one.p(), None);
        let difference = proportion_difference(&bootstrap, both(&worse));
        let expected = 180.0 / 200.0 - 101.0 / 200.0;
        assert!((difference.value.unwrap() - expected).abs() < 1e-12, "{difference:?}");
        assert!(difference.lo > Some(0.0), "{difference:?}");
        assert!((difference.p().unwrap() - 2.0 / 10_001.0).abs() < 1e-12, "{difference:?}");
        let itself = proportion_difference(&bootstrap, both(&better));
        assert_eq!((itself.lo, itself.hi, itself.p()), (Some(0.0), Some(0.0), Some(1.0)));
        assert_eq!(proportion(&bootstrap, [(0, Share::default()); 3]).value, None);
    }
}
