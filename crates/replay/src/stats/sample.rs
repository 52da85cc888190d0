//! Estimates over clusters of sessions: a value, its interval, and the test of a difference.
//!
//! The interval leaves out one cluster at a time (the jackknife estimate CV3 of MacKinnon, Nielsen and Webb, "Cluster-robust
//! inference: a guide to empirical practice", Journal of Econometrics 232, 2023) and takes Student's t with as many degrees of
//! freedom as clusters in which something acted, less one. It needs no draws. Its real coverage is in `docs/definitions.md`.

use super::rng::SplitMix64;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// A statistic with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The statistic of the whole sample; `None` where it is undefined (nothing to divide by).
    pub value: Option<f64>,
    /// Lower end of the interval; `None` with fewer than two clusters.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
    /// Two-sided p-value of the sign-flip test, for statistics that have a null.
    pub p: Option<f64>,
    /// Standard error.
    pub se: Option<f64>,
    /// Sessions.
    pub n: usize,
    /// Clusters that the sessions fall into and in which something acted.
    pub clusters: usize,
}

impl Estimate {
    /// The same of a function of the statistic that never falls. The standard error stays that of the statistic itself.
    #[must_use]
    pub(crate) fn map(mut self, rise: fn(f64) -> f64) -> Self {
        [&mut self.value, &mut self.lo, &mut self.hi].into_iter().for_each(|it| *it = it.map(rise));
        self
    }

    /// The interval cut off where the statistic ends.
    #[must_use]
    pub(crate) fn within(mut self, least: f64, most: f64) -> Self {
        self.lo = self.lo.map(|lo| lo.max(least));
        self.hi = self.hi.map(|hi| hi.min(most));
        self
    }
}

/// Which clusters there are, and where the draws of tests begin.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    seed: u64,
    /// By cluster, whether something acted in it; it did in all where this is not given.
    acting: Option<Vec<bool>>,
    /// There are too few for intervals and tests.
    too_few: bool,
}

/// Clusters up to which all flips of signs are looked at.
const EXACT: usize = 12;
/// Flips that are drawn of more.
const FLIPS: usize = 10_000;

impl Sample {
    /// Confidence level of every interval.
    pub(crate) const LEVEL: f64 = 0.95;

    /// Clusters of which all count. The seed is part of every report.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Clusters of which those count in which something acted; with `too_few` there are neither intervals nor tests.
    pub(crate) fn of_acting(seed: u64, acting: Vec<bool>, too_few: bool) -> Self {
        Self { seed, acting: Some(acting), too_few }
    }

    /// Whether something acted in a cluster.
    fn counts(&self, cluster: usize) -> bool {
        self.acting.as_ref().is_none_or(|acting| acting.get(cluster).copied().unwrap_or_default())
    }

    /// Estimates a statistic that is a function of sums over sessions.
    ///
    /// `rows` holds one session each: the number of its cluster, and what it adds to the `K` sums.
    /// `statistic` turns the sums into the value, `None` where they leave it undefined. Ratios of
    /// totals, means and pooled proportions are all of this kind.
    pub(crate) fn of_sums<const K: usize>(
        &self,
        rows: impl IntoIterator<Item = (usize, [f64; K])>,
        statistic: fn(&[f64; K]) -> Option<f64>,
    ) -> Estimate {
        let (clusters, n) = by_cluster(rows);
        let defined = |sums: &[f64; K]| statistic(sums).filter(|value| value.is_finite());
        let mut total = [0.0; K];
        clusters.iter().for_each(|(_, cluster)| add(&mut total, cluster));
        let counted = clusters.iter().filter(|(cluster, _)| self.counts(*cluster)).count();
        let value = defined(&total);
        let estimate = Estimate { value, n, clusters: counted, ..Estimate::default() };
        let Some(value) = value.filter(|_| counted >= 2 && !self.too_few) else { return estimate };
        let mut squares = 0.0;
        for (_, cluster) in &clusters {
            let rest = std::array::from_fn(|at| total[at] - cluster[at]);
            // A figure that rests on one cluster alone says nothing about others.
            let Some(without) = defined(&rest) else { return estimate };
            squares += (without - value).powi(2);
        }
        let k = clusters.len() as f64;
        let se = ((k - 1.0) / k * squares).sqrt();
        let half = se * t_quantile(counted - 1);
        Estimate { lo: Some(value - half), hi: Some(value + half), se: Some(se), ..estimate }
    }

    /// The two-sided p-value of a sum of differences, given with the clusters of their sessions: the share of the ways to flip
    /// the signs of clusters that make the sum at least as far from zero (Fisher 1935; Canay, Romano and Shaikh, Econometrica
    /// 85(3), 2017, for clusters). All of them up to 12 clusters that differ, else those of 10,000 draws and the sample itself.
    /// `None` where there are too few clusters.
    pub(crate) fn test(&self, differences: impl IntoIterator<Item = (usize, f64)>) -> Option<f64> {
        let rows = differences.into_iter().map(|(cluster, difference)| (cluster, [difference]));
        let (clusters, _) = by_cluster(rows);
        let counted: Vec<f64> = clusters
            .into_iter()
            .filter(|(cluster, _)| self.counts(*cluster))
            .map(|(_, [difference])| difference)
            .collect();
        if self.too_few || counted.len() < 2 {
            return None;
        }
        let sizes: f64 = counted.iter().map(|difference| difference.abs()).sum();
        // What rounding leaves of bills that are the same.
        let least = sizes * 1e-12;
        let differing: Vec<f64> = counted.into_iter().filter(|one| one.abs() > least).collect();
        let observed = differing.iter().sum::<f64>().abs() - sizes * 1e-9;
        Some(match differing.len() {
            0 => 1.0,
            few if few <= EXACT => exact(&differing, observed),
            _ => drawn(&differing, observed, self.seed),
        })
    }
}

/// Of all signs of the differences but the first, which may keep its own, how many make the sum so large.
fn exact(differences: &[f64], observed: f64) -> f64 {
    let ways = 1_u32 << (differences.len() - 1);
    let sum = |way: u32| -> f64 {
        let signed = differences.iter().enumerate();
        signed.map(|(at, one)| if way << 1 >> at & 1 == 1 { -one } else { *one }).sum()
    };
    let large = (0..ways).filter(|way| sum(*way).abs() >= observed).count();
    large as f64 / f64::from(ways)
}

fn drawn(differences: &[f64], observed: f64, seed: u64) -> f64 {
    let mut rng = SplitMix64::new(seed);
    let mut sum = || -> f64 {
        let chunks = differences.chunks(64);
        chunks
            .map(|chunk| {
                let signs = rng.next_u64();
                let signed = chunk.iter().enumerate();
                // The highest bit of a float is its sign.
                let flip = |(at, one): (usize, &f64)| {
                    f64::from_bits(one.to_bits() ^ (signs >> at & 1) << 63)
                };
                signed.map(flip).sum::<f64>()
            })
            .sum()
    };
    let large = (0..FLIPS).filter(|_| sum().abs() >= observed).count();
    (large + 1) as f64 / (FLIPS + 1) as f64
}

/// The quantile of Student's t that bounds an interval of [`Sample::LEVEL`] from above.
fn t_quantile(freedom: usize) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom as f64);
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(f64::midpoint(1.0, Sample::LEVEL)))
}

/// The sums of clusters, with their numbers, and how many rows there were.
fn by_cluster<const K: usize>(
    rows: impl IntoIterator<Item = (usize, [f64; K])>,
) -> (Vec<(usize, [f64; K])>, usize) {
    let (mut sums, mut n): (Vec<Option<[f64; K]>>, usize) = (Vec::new(), 0);
    for (cluster, row) in rows {
        if sums.len() <= cluster {
            sums.resize(cluster + 1, None);
        }
        add(sums[cluster].get_or_insert([0.0; K]), &row);
        n += 1;
    }
    let numbered = sums.into_iter().enumerate();
    (numbered.filter_map(|(cluster, sums)| Some((cluster, sums?))).collect(), n)
}

/// The number of each session's cluster by its label, in the order of the labels, and how many clusters there are.
pub(crate) fn clusters<L: Ord>(labels: &[L]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|at| &labels[*at]);
    let (mut numbers, mut count) = (vec![0; labels.len()], 0);
    for cluster in order.chunk_by(|a, b| labels[*a] == labels[*b]) {
        cluster.iter().for_each(|at| numbers[*at] = count);
        count += 1;
    }
    (numbers, count)
}

fn add<const K: usize>(to: &mut [f64; K], row: &[f64; K]) {
    for (at, sum) in to.iter_mut().enumerate() {
        *sum += row[at];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(sums: &[f64; 2]) -> Option<f64> {
        (sums[1] > 0.0).then(|| sums[0] / sums[1])
    }

    fn close(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-7), "{value:?} {expected}");
    }

    /// The jackknife of a mean is its usual standard error.
    #[test]
    fn the_interval_of_a_mean_is_that_of_students_t() {
        // SciPy 1.17.1: stats.t.interval(0.95, 4, loc=np.mean(x), scale=stats.sem(x)) of x = [1, 2, 4, 7, 11]
        let rows = [1.0, 2.0, 4.0, 7.0, 11.0].into_iter().enumerate();
        let estimate = Sample::default().of_sums(rows.map(|(at, x)| (at, [x, 1.0])), mean);
        close(estimate.value, 5.0);
        close(estimate.se, 1.816_590_212_458_495);
        close(estimate.lo, -0.043_663_003_530_608);
        close(estimate.hi, 10.043_663_003_530_608);
    }

    #[test]
    fn sessions_of_one_cluster_are_left_out_together() {
        let values = [1.0, 1.1, 0.9, 5.0, 5.1, 4.9, 2.0, 2.1, 1.9];
        let with = |clusters: [usize; 9]| {
            let rows = clusters.into_iter().zip(values.map(|value| [value, 1.0]));
            Sample::default().of_sums(rows, mean)
        };
        let (clustered, naive) =
            (with([0, 0, 0, 1, 1, 1, 2, 2, 2]), with([1, 2, 3, 4, 5, 6, 7, 8, 9]));
        assert_eq!((clustered.clusters, naive.clusters), (3, 9));
        assert_eq!((clustered.n, clustered.value), (9, naive.value));
        assert!(clustered.se > naive.se, "{clustered:?} {naive:?}");
    }

    #[test]
    fn only_clusters_in_which_something_acted_count() {
        let rows = [(0, [1.0, 1.0]), (1, [3.0, 1.0]), (2, [2.0, 1.0]), (3, [2.0, 1.0])];
        let of = |acting: [bool; 4], too_few| {
            Sample::of_acting(0, acting.to_vec(), too_few).of_sums(rows, mean)
        };
        let (all, two) = (of([true; 4], false), of([true, true, false, false], false));
        // The same spread, of which less is known.
        assert_eq!((all.se, all.clusters, two.clusters), (two.se, 4, 2));
        assert!(two.hi > all.hi, "{two:?} {all:?}");
        for none in [of([true, false, false, false], false), of([true; 4], true)] {
            assert_eq!((none.value, none.lo, none.hi), (Some(2.0), None, None));
        }
    }

    #[test]
    fn what_has_no_interval_says_so() {
        let none: [(usize, [f64; 2]); 0] = [];
        let one = [(0, [1.0, 1.0]), (0, [3.0, 1.0])];
        let in_one = [(0, [1.0, 1.0]), (1, [0.0, 0.0])];
        let table = [
            ("nothing", Sample::default().of_sums(none, mean), None),
            ("one cluster", Sample::default().of_sums(one, mean), Some(2.0)),
            ("all in one of two", Sample::default().of_sums(in_one, mean), Some(1.0)),
        ];
        for (case, estimate, value) in table {
            assert_eq!(estimate.value, value, "{case}");
            assert_eq!((estimate.lo, estimate.hi, estimate.se), (None, None, None), "{case}");
        }
    }

    #[test]
    fn few_clusters_are_tested_exactly() {
        let test = |differences: &[f64]| {
            Sample::default().test(differences.iter().copied().enumerate()).unwrap()
        };
        let table: [(&[f64], f64); 6] = [
            // All signs alike: two of all ways are as large.
            (&[1.0, 2.0, 3.0, 4.0], 2.0 / 16.0),
            (&[-1.0, -2.0, -3.0, -4.0], 2.0 / 16.0),
            // As large are the ways that turn nothing, the 1, or all of either.
            (&[-1.0, 2.0, 3.0, 4.0], 4.0 / 16.0),
            (&[0.0, 0.0, 5.0, 0.0, 5.0], 2.0 / 4.0),
            (&[1.0, -1.0], 1.0),
            (&[0.0, 0.0], 1.0),
        ];
        for (differences, p) in table {
            assert!(
                (test(differences) - p).abs() < 1e-12,
                "{differences:?}: {}",
                test(differences)
            );
        }
        assert_eq!(Sample::default().test([(0, 1.0)]), None);
    }

    /// More clusters are drawn, and give about what all ways give.
    #[test]
    fn many_clusters_are_drawn() {
        let differences: Vec<f64> = (0..13).map(|at| f64::from(at) - 4.5).collect();
        let exact = {
            let observed = differences.iter().sum::<f64>().abs() - 1e-9;
            exact(&differences, observed)
        };
        let test = |seed| Sample::new(seed).test(differences.iter().copied().enumerate()).unwrap();
        assert!((test(1) - exact).abs() < 0.01, "{} {exact}", test(1));
        assert_eq!(test(1), test(1));
        assert_ne!(test(1), test(2));
        let large: Vec<f64> = (0..100).map(|_| 1.0).collect();
        let p = Sample::default().test(large.into_iter().enumerate()).unwrap();
        assert!((p - 1.0 / 10_001.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn clusters_are_numbered_in_the_order_of_their_labels() {
        assert_eq!(clusters(&["b", "a", "b", "c", "aa"]), (vec![2, 0, 2, 3, 1], 4));
        assert_eq!(clusters::<&str>(&[]), (Vec::new(), 0));
    }
}
