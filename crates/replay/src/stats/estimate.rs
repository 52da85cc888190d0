//! The estimates that a table prints, each over sessions.

use super::sample::{Estimate, Sample};
use super::share::Share;

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

/// `Σ value / Σ base`: the bill. Long sessions weigh most. It is not tested against anything.
pub(crate) fn ratio_of_totals(sample: &Sample, pairs: &[Pair]) -> Estimate {
    let rows = pairs.iter().map(|pair| (pair.cluster, [pair.value, pair.base]));
    sample.of_sums(rows, |sums| divide(sums[0], sums[1])).within(0.0, f64::INFINITY)
}

/// The same, tested. Null: 1, by the differences of both.
pub(crate) fn tested_ratio_of_totals(sample: &Sample, pairs: &[Pair]) -> Estimate {
    let differences = pairs.iter().map(|pair| (pair.cluster, pair.value - pair.base));
    Estimate { p: sample.test(differences), ..ratio_of_totals(sample, pairs) }
}

/// Mean of `base - value`: what a session costs less. It is not tested against anything.
pub(crate) fn mean_saving(sample: &Sample, pairs: &[Pair]) -> Estimate {
    untested_mean(sample, pairs.iter().map(|pair| (pair.cluster, pair.base - pair.value)))
}

/// Mean of a value, given with the cluster of its session, tested. Null: 0.
pub(crate) fn tested_mean(sample: &Sample, values: &[(usize, f64)]) -> Estimate {
    let values = values.iter().copied();
    Estimate { p: sample.test(values.clone()), ..untested_mean(sample, values) }
}

fn untested_mean(sample: &Sample, values: impl Iterator<Item = (usize, f64)>) -> Estimate {
    let rows = values.map(|(cluster, value)| (cluster, [value, 1.0]));
    sample.of_sums(rows, |sums| divide(sums[0], sums[1]))
}

/// `Σ kept / Σ needed`: a proportion pooled over sessions, each given with its cluster. It is not tested against anything.
pub(crate) fn proportion(
    sample: &Sample,
    shares: impl IntoIterator<Item = (usize, Share)>,
) -> Estimate {
    let shares = shares.into_iter();
    let rows = shares.map(|(cluster, share)| (cluster, [share.kept as f64, share.needed as f64]));
    sample.of_sums(rows, |sums| divide(sums[0], sums[1])).within(0.0, 1.0)
}

/// Difference of two pooled proportions of the same sessions, each session given with its cluster and both, tested. Null: 0, by what
/// each session adds to the difference.
pub(crate) fn proportion_difference(sample: &Sample, shares: &[(usize, [Share; 2])]) -> Estimate {
    let counts = |both: &[Share; 2]| {
        let [a, b] = both;
        [a.kept, a.needed, b.kept, b.needed].map(|count| count as f64)
    };
    let rows = shares.iter().map(|(cluster, both)| (*cluster, counts(both)));
    let estimate =
        sample.of_sums(rows, |sums| Some(divide(sums[0], sums[1])? - divide(sums[2], sums[3])?));
    let needed = |of: usize| shares.iter().map(|(_, both)| both[of].needed).sum::<u64>() as f64;
    let (first, second) = (needed(0).max(1.0), needed(1).max(1.0));
    let differences = shares.iter().map(|(cluster, both)| {
        let [a, _, b, _] = counts(both);
        (*cluster, a / first - b / second)
    });
    Estimate { p: sample.test(differences), ..estimate }.within(-1.0, 1.0)
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

    /// NumPy 2.4.6 and SciPy 1.17.1: the leave-one-out estimates by hand, `stats.t.ppf(0.975, 9)`, and all 1,024 signs of the
    /// differences: value, lower, upper, standard error, p.
    #[test]
    fn intervals_and_tests_are_those_of_scipy() {
        let sample = Sample::default();
        let differences: Vec<(usize, f64)> =
            pairs().iter().map(|pair| (pair.cluster, pair.value - pair.base)).collect();
        let table = [
            (
                "ratio of totals",
                tested_ratio_of_totals(&sample, &pairs()),
                [0.876_363_636, 0.679_252_435, 1.073_474_838, 0.087_134_177, 0.167_968_75],
            ),
            (
                "mean difference",
                tested_mean(&sample, &differences),
                [-0.34, -0.836_988_601, 0.156_988_601, 0.219_696_761, 0.167_968_75],
            ),
        ];
        for (name, ours, [value, lo, hi, se, p]) in table {
            let found =
                [(ours.value, value), (ours.lo, lo), (ours.hi, hi), (ours.se, se), (ours.p, p)];
            for (found, expected) in found {
                assert!((found.unwrap() - expected).abs() < 1e-7, "{name}: {ours:?}");
            }
            assert_eq!((ours.n, ours.clusters), (10, 10), "{name}");
        }
    }

    #[test]
    fn proportions_are_pooled_over_sessions() {
        let of = |kept: [u64; 4]| kept.into_iter().zip([10, 100, 50, 40]);
        let of = |kept| of(kept).map(|(kept, needed)| Share { kept, needed }).collect::<Vec<_>>();
        let sample = Sample::default();
        let (better, worse) = (of([9, 90, 45, 36]), of([5, 60, 20, 16]));
        let both = |other: &[Share]| {
            let both = better.iter().zip(other).map(|(a, b)| [*a, *b]);
            both.enumerate().collect::<Vec<_>>()
        };
        let one = proportion(&sample, better.iter().copied().enumerate());
        assert!((one.value.unwrap() - 0.9).abs() < 1e-12, "{one:?}");
        assert_eq!(one.p, None);
        let difference = proportion_difference(&sample, &both(&worse));
        let expected = 180.0 / 200.0 - 101.0 / 200.0;
        assert!((difference.value.unwrap() - expected).abs() < 1e-12, "{difference:?}");
        assert!(difference.lo > Some(0.0), "{difference:?}");
        // All four differ in one direction.
        assert!((difference.p.unwrap() - 2.0 / 16.0).abs() < 1e-12, "{difference:?}");
        let itself = proportion_difference(&sample, &both(&better));
        assert_eq!((itself.lo, itself.hi, itself.p), (Some(0.0), Some(0.0), Some(1.0)));
        assert_eq!(proportion(&sample, [(0, Share::default()); 3]).value, None);
    }

    #[test]
    fn intervals_end_where_the_figure_does() {
        let sample = Sample::default();
        let shares = [(10, 10), (9, 10), (10, 10)].map(|(kept, needed)| Share { kept, needed });
        let share = proportion(&sample, shares.into_iter().enumerate());
        assert_eq!(share.hi, Some(1.0), "{share:?}");
        let pair = |(cluster, value)| Pair { cluster, value, base: 1.0 };
        let ratio = ratio_of_totals(&sample, &[(0, 0.0), (1, 0.1), (2, 2.0)].map(pair));
        assert_eq!(ratio.lo, Some(0.0), "{ratio:?}");
    }
}
