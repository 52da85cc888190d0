//! Small closed forms: Holm's adjustment, and how many clusters a test needs.

use statrs::distribution::{ContinuousCDF, Normal};

/// Adjusts the p-values of one family (Holm 1979), in their order. Not a number counts as 1.
pub(crate) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (done, at) in order.into_iter().enumerate() {
        if p[at].is_nan() {
            continue;
        }
        least = least.max(((p.len() - done) as f64 * p[at]).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

/// How many clusters a one-sided test at `alpha` needs to find a true difference with probability `power`, where an estimate over
/// `clusters` of them has the standard error `se`:
/// `clusters · ((z_{1-alpha} + z_power) · se / difference)² + z_{1-alpha}² / 2`. The last term stands for Student's t (Guenther,
/// "Sample size formulas for normal theory t tests", The American Statistician 35(4), 1981). It is never fewer than with which flips
/// of signs can give such a p-value at all.
pub(crate) fn clusters_needed(
    se: f64,
    clusters: usize,
    difference: f64,
    alpha: f64,
    power: f64,
) -> usize {
    let normal = Normal::standard();
    let z = normal.inverse_cdf(1.0 - alpha);
    let spread = (z + normal.inverse_cdf(power)) * se / difference;
    let by_spread = clusters as f64 * spread.powi(2) + z.powi(2) / 2.0;
    by_spread.max(-alpha.log2()).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::super::{Pair, Sample, SplitMix64, tested_ratio_of_totals};
    use super::*;

    /// Bills of clusters of very different sizes, `saved` less under the strategy, by draws.
    fn bills(rng: &mut SplitMix64, clusters: usize, saved: f64) -> Vec<Pair> {
        let pair = |cluster| {
            let base = [0.5, 1.0, 2.0, 4.0][rng.below(4)];
            // The sum of four draws is close to normal.
            let noise: usize = (0..4).map(|_| rng.below(101)).sum();
            let noise = (noise as f64 - 200.0) / 200.0 * 0.35;
            Pair { cluster, value: base * (1.0 - saved + noise), base }
        };
        (0..clusters).map(pair).collect()
    }

    /// Of tables with as many clusters as are said to be needed, four in five find the difference that was planted.
    #[test]
    fn the_clusters_that_are_needed_find_a_difference_in_four_of_five_tables() {
        const TABLES: usize = 200;
        for (difference, alpha) in [(0.1, 0.1), (0.05, 0.1), (0.1, 0.01)] {
            let mut rng = SplitMix64::new(7);
            let pilot =
                tested_ratio_of_totals(&Sample::new(0), &bills(&mut rng, 2_000, difference));
            let needed = clusters_needed(pilot.se.unwrap(), pilot.clusters, difference, alpha, 0.8);
            let mut found = |clusters: usize| {
                let tables = (0..TABLES).filter(|table| {
                    let sample = Sample::new(*table as u64);
                    let found =
                        tested_ratio_of_totals(&sample, &bills(&mut rng, clusters, difference));
                    found.value < Some(1.0) && found.p.unwrap() / 2.0 <= alpha
                });
                tables.count() as f64 / TABLES as f64
            };
            let power = found(needed);
            assert!((0.72..0.92).contains(&power), "{difference} {alpha} {needed}: {power}");
            let half = found(needed / 2);
            assert!(half < 0.66, "{difference} {alpha} {needed}: {half}");
        }
    }

    #[test]
    fn no_fewer_clusters_are_needed_than_signs_can_tell() {
        // SciPy 1.17.1: ceil(12 * ((norm.ppf(.9) + norm.ppf(.8)) * .05 / .05) ** 2 + norm.ppf(.9) ** 2 / 2)
        assert_eq!(clusters_needed(0.05, 12, 0.05, 0.1, 0.8), 55);
        assert_eq!(clusters_needed(0.0, 12, 0.05, 0.01, 0.8), 7, "2^-6 is above 0.01");
    }

    #[test]
    fn holm_is_that_of_statsmodels() {
        // statsmodels 0.15.0: stats.multitest.multipletests(p, method="holm")[1]
        let cases: [(&[f64], &[f64]); 5] = [
            (&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]),
            (&[0.2, 0.9, 0.01], &[0.4, 0.9, 0.03]),
            (&[0.5, 0.5], &[1.0, 1.0]),
            (&[0.001], &[0.001]),
            (&[], &[]),
        ];
        for (p, expected) in cases {
            let ours = holm(p);
            assert_eq!(ours.len(), expected.len());
            for (ours, expected) in ours.iter().zip(expected) {
                assert!((ours - expected).abs() < 1e-12, "{p:?}: {ours}");
            }
        }
    }
}
