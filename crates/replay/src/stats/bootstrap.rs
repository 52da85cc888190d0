//! The cluster bootstrap.

use super::rng::SplitMix64;
use serde::{Serialize, Serializer};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Sums that are kept in all, 16 MB of them: those of 209 columns in 10,000 draws. The oldest columns go first.
const KEPT_SUMS: usize = 1 << 21;

/// The sums of a column by draw, as soon as they are made.
type Sums = Arc<OnceLock<Box<[f64]>>>;

/// A statistic with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The statistic of the whole sample; `None` where it is undefined (nothing to divide by).
    pub value: Option<f64>,
    /// Lower end of the interval; `None` with fewer than two clusters.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
    /// Where the draws fell, seen from the null that was asked for. Serialized as the p-value.
    #[serde(rename = "p")]
    pub tails: Option<Tails>,
    /// Standard deviation of the draws: the standard error.
    pub se: Option<f64>,
    /// Sessions.
    pub n: usize,
    /// Clusters that the sessions fall into.
    pub clusters: usize,
}

/// How many draws of a bootstrap fell on which side of a null, those at the null on both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tails {
    above: usize,
    below: usize,
    drawn: usize,
}

impl Tails {
    fn of(drawn: &[f64], null: f64) -> Self {
        Self {
            above: drawn.iter().filter(|value| **value >= null).count(),
            below: drawn.iter().filter(|value| **value <= null).count(),
            drawn: drawn.len(),
        }
    }

    /// The two-sided p-value `2 · min(P(d* ≥ null), P(d* ≤ null))`, each share with one added above and below (Davison
    /// and Hinkley 1997): a p-value of zero would claim more than the draws can show. Its least value is
    /// `2 / (draws + 1)`.
    pub fn p(self) -> f64 {
        (2.0 * (self.rarer() + 1) as f64 / (self.drawn + 1) as f64).min(1.0)
    }

    /// The draws on the side that has fewer.
    pub fn rarer(self) -> usize {
        self.above.min(self.below)
    }

    /// With further draws.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            above: self.above + more.above,
            below: self.below + more.below,
            drawn: self.drawn + more.drawn,
        }
    }
}

impl Serialize for Tails {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.p())
    }
}

impl Estimate {
    /// Two-sided p-value against the null that was asked for.
    pub fn p(&self) -> Option<f64> {
        self.tails.map(Tails::p)
    }
}

/// A cluster bootstrap (Efron and Tibshirani 1993, percentile interval of 95 %).
///
/// The draws depend on the seed and the number of clusters alone, so that two statistics of the same sessions are
/// resampled alike. What both sum is summed once: every pair of strategies divides the same bills, and strategies that did
/// nothing have those of each other.
#[derive(Debug)]
pub struct Bootstrap {
    draws: usize,
    seed: u64,
    /// Whether nothing but the tails is wanted of an estimate.
    tails_only: bool,
    /// By the hash of a column.
    kept: Mutex<VecDeque<(blake3::Hash, Sums)>>,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self::new(Self::DRAWS, 0)
    }
}

impl Bootstrap {
    /// Confidence level of every interval.
    pub const LEVEL: f64 = 0.95;
    /// Draws where nothing else is asked for.
    pub const DRAWS: usize = 10_000;

    /// A bootstrap of so many draws. The seed is part of every report.
    pub fn new(draws: usize, seed: u64) -> Self {
        Self { draws, seed, tails_only: false, kept: Mutex::default() }
    }

    /// As many draws again, others in each round, for the tails alone.
    #[must_use]
    pub fn round(&self, round: usize) -> Self {
        // The generator goes on by a constant. A seed that is its output begins elsewhere.
        let mut seeds = SplitMix64::new(!self.seed);
        let seed = (0..round).fold(self.seed, |_, _| seeds.next_u64());
        Self { seed, tails_only: true, ..Self::new(self.draws, seed) }
    }

    /// Estimates a statistic that is a function of sums over sessions.
    ///
    /// `rows` holds one session each: the number of its cluster, and what it adds to the `K` sums.
    /// `statistic` turns the sums into the value, `None` where they leave it undefined. Ratios of
    /// totals, means, geometric means and pooled proportions are all of this kind, and a draw costs
    /// one addition per cluster instead of a pass over the sessions.
    pub fn of_sums<const K: usize>(
        &self,
        rows: impl IntoIterator<Item = (usize, [f64; K])>,
        null: Option<f64>,
        statistic: fn(&[f64; K]) -> Option<f64>,
    ) -> Estimate {
        self.of_rows(&mut rows.into_iter(), null, statistic)
    }

    /// Compiled once for each number of sums.
    fn of_rows<const K: usize>(
        &self,
        rows: &mut dyn Iterator<Item = (usize, [f64; K])>,
        null: Option<f64>,
        statistic: fn(&[f64; K]) -> Option<f64>,
    ) -> Estimate {
        let (mut by_cluster, mut n): (Vec<Option<[f64; K]>>, usize) = (Vec::new(), 0);
        for (cluster, row) in rows {
            if by_cluster.len() <= cluster {
                by_cluster.resize(cluster + 1, None);
            }
            add(by_cluster[cluster].get_or_insert([0.0; K]), &row);
            n += 1;
        }
        let clusters: Vec<[f64; K]> = by_cluster.into_iter().flatten().collect();
        let mut total = [0.0; K];
        for cluster in &clusters {
            add(&mut total, cluster);
        }
        let mut estimate = Estimate {
            value: statistic(&total).filter(|value| value.is_finite()),
            lo: None,
            hi: None,
            tails: None,
            se: None,
            n,
            clusters: clusters.len(),
        };
        if estimate.value.is_none() || clusters.len() < 2 {
            return estimate;
        }
        let columns: [Sums; K] = std::array::from_fn(|at| {
            self.column(&clusters.iter().map(|cluster| cluster[at]).collect::<Vec<f64>>())
        });
        let columns = columns.each_ref().map(|column| column.wait());
        let sums = |draw: usize| columns.map(|column| column[draw]);
        // A draw of clusters that leave the statistic undefined says nothing about it.
        let values = (0..self.draws).filter_map(|draw| statistic(&sums(draw)));
        let mut drawn: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        if drawn.is_empty() {
            return estimate;
        }
        estimate.tails = null.map(|null| Tails::of(&drawn, null));
        if self.tails_only {
            return estimate;
        }
        estimate.se = standard_deviation(&drawn);
        let tail = (1.0 - Self::LEVEL) / 2.0;
        estimate.lo = Some(percentile(&mut drawn, tail));
        estimate.hi = Some(percentile(&mut drawn, 1.0 - tail));
        estimate
    }

    /// The sums of a column by draw. What another thread is summing is waited for.
    fn column(&self, clusters: &[f64]) -> Sums {
        let mut hash = blake3::Hasher::new();
        for cluster in clusters {
            hash.update(&cluster.to_le_bytes());
        }
        let hash = hash.finalize();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = match kept.iter().find(|(known, _)| *known == hash) {
            Some((_, sums)) => Arc::clone(sums),
            None => {
                let sums = Sums::default();
                kept.push_back((hash, Arc::clone(&sums)));
                while kept.len() * self.draws > KEPT_SUMS {
                    kept.pop_front();
                }
                sums
            }
        };
        drop(kept);
        sums.get_or_init(|| {
            let mut rng = SplitMix64::new(self.seed);
            let mut one = || clusters[rng.below(clusters.len())];
            (0..self.draws).map(|_| clusters.iter().fold(0.0, |sum, _| sum + one())).collect()
        });
        sums
    }
}

/// The number of each session's cluster by its label, in the order of the labels, and how many clusters there are.
pub fn clusters<L: Ord>(labels: &[L]) -> (Vec<usize>, usize) {
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

/// Percentile with linear interpolation between order statistics (type 7 of Hyndman and Fan 1996,
/// the default of R and NumPy). `values` is not empty; it is put in order only as far as needed.
fn percentile(values: &mut [f64], share: f64) -> f64 {
    let at = share * (values.len() - 1) as f64;
    let below = at.floor() as usize;
    let (_, low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(*low);
    *low + (high - *low) * (at - below as f64)
}

fn standard_deviation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if n < 2.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(sums: &[f64; 2]) -> Option<f64> {
        (sums[1] > 0.0).then(|| sums[0] / sums[1])
    }

    #[test]
    fn percentiles_are_those_of_numpy() {
        // numpy 2.4.6: np.percentile([1, 2, 3, 4, 10], [2.5, 50, 97.5])
        let mut values = [3.0, 1.0, 10.0, 2.0, 4.0];
        for (share, expected) in [(0.025, 1.1), (0.5, 3.0), (0.975, 9.4), (1.0, 10.0)] {
            assert!((percentile(&mut values, share) - expected).abs() < 1e-12, "{share}");
        }
    }

    #[test]
    fn p_values_count_one_draw_more() {
        let all_above: Vec<f64> = (1..=999).map(f64::from).collect();
        let cases = [(0.0, 0.002), (500.0, 1.0), (1.0, 0.004), (1000.0, 0.002)];
        for (null, expected) in cases {
            assert!((Tails::of(&all_above, null).p() - expected).abs() < 1e-12, "{null}");
        }
    }

    #[test]
    fn a_round_draws_what_no_other_drew() {
        let rows = [(0, [1.0, 1.0]), (1, [2.0, 1.0]), (2, [4.5, 1.0]), (3, [2.7, 1.0])];
        let bootstrap = Bootstrap::new(1_000, 7);
        let tails = |bootstrap: &Bootstrap| {
            let estimate = bootstrap.of_sums(rows, Some(2.0), mean);
            assert_eq!(estimate.value, Some(2.55));
            estimate.tails.unwrap()
        };
        let rounds = [1, 2, 3].map(|round| tails(&bootstrap.round(round)));
        let all = rounds.into_iter().fold(tails(&bootstrap), Tails::and);
        assert_eq!(all.drawn, 4_000);
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2] && rounds[0] != tails(&bootstrap));
        assert_eq!(rounds[1], tails(&bootstrap.round(2)));
        assert!((all.p() - rounds[0].p()).abs() < 0.05, "{all:?}");
    }

    #[test]
    fn sessions_of_one_cluster_are_drawn_together() {
        let values = [1.0, 1.1, 0.9, 5.0, 5.1, 4.9, 2.0, 2.1, 1.9];
        let tasks = [0, 0, 0, 1, 1, 1, 2, 2, 2];
        let ids = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let with = |clusters: [usize; 9]| {
            let rows = clusters.into_iter().zip(values.map(|value| [value, 1.0]));
            Bootstrap::default().of_sums(rows, None, mean)
        };
        let (clustered, naive) = (with(tasks), with(ids));
        assert_eq!((clustered.clusters, naive.clusters), (3, 9));
        assert_eq!((clustered.n, clustered.value), (9, naive.value));
        assert!(clustered.se > naive.se, "{clustered:?} {naive:?}");
        // Three equal clusters: an end of the interval is the mean of one of them, drawn thrice.
        assert!((clustered.lo.unwrap() - 1.0).abs() < 1e-9, "{clustered:?}");
        assert!((clustered.hi.unwrap() - 5.0).abs() < 1e-9, "{clustered:?}");
    }

    #[test]
    fn clusters_are_numbered_in_the_order_of_their_labels() {
        assert_eq!(clusters(&["b", "a", "b", "c", "aa"]), (vec![2, 0, 2, 3, 1], 4));
        assert_eq!(clusters::<&str>(&[]), (Vec::new(), 0));
    }

    #[test]
    fn what_has_no_interval_says_so() {
        let none: [(usize, [f64; 2]); 0] = [];
        let cases = [
            ("nothing", Bootstrap::default().of_sums(none, Some(0.0), mean), None),
            (
                "one cluster",
                Bootstrap::default().of_sums([(0, [1.0, 1.0]), (0, [3.0, 1.0])], Some(0.0), mean),
                Some(2.0),
            ),
        ];
        for (case, estimate, value) in cases {
            assert_eq!(estimate.value, value, "{case}");
            assert_eq!((estimate.lo, estimate.hi, estimate.p()), (None, None, None), "{case}");
        }
    }

    /// Every pair of three columns is made of the same three, and what is kept has an end.
    #[test]
    fn a_column_is_summed_once() {
        let columns = [[1.0, 2.0, 4.0], [3.0, 1.0, 2.0], [5.0, 5.0, 1.0]];
        let together = Bootstrap::new(100, 0);
        let few = Bootstrap::new(KEPT_SUMS / 2, 0);
        for first in columns {
            for second in columns {
                let row = |at: usize| (at, [first[at], second[at]]);
                let rows = [0, 1, 2].map(row);
                let alone = Bootstrap::new(100, 0).of_sums(rows, Some(1.0), mean);
                assert_eq!(together.of_sums(rows, Some(1.0), mean), alone);
            }
            let row = |at: usize| (at, [first[at]]);
            few.of_sums([0, 1, 2].map(row), None, |[sum]| Some(*sum));
        }
        let kept = |bootstrap: &Bootstrap| bootstrap.kept.lock().unwrap().len();
        assert_eq!((kept(&together), kept(&few)), (3, 2));
    }

    #[test]
    fn a_seed_fixes_the_result_and_another_changes_it() {
        let rows = [(0, [1.0, 1.0]), (1, [2.0, 1.0]), (2, [4.5, 1.0]), (3, [2.7, 1.0])];
        let with = |seed| Bootstrap::new(200, seed).of_sums(rows, Some(2.0), mean);
        assert_eq!(with(1), with(1));
        assert_ne!(with(1).se, with(2).se);
    }
}
