//! The calibrated size of a request: what the recording's provider would have counted, if its usage shows it.
//!
//! Measured tokens are those of another tokenizer than the model's. Let `u` be the recorded input of a call, `n` the
//! measured size of the same request un-compacted, `u₀` and `n₀` those of the first call with usage. κ is the
//! median of `(u − u₀) / (n − n₀)` over the later calls, each weighing `n − n₀`: of all lines through the first call the
//! one with the least sum of absolute errors. A request of `n` tokens then weighs `u₀ + κ·(n − n₀)`. What was sent
//! and not recorded is in both `u₀` and `n₀`, so it is neither scaled nor counted twice.
//!
//! The median of the steps between calls that [`fit`](foldback_stages::estimator::fit()) takes is no substitute: most steps
//! are small, and what a provider wraps around a small message makes their ratio too large.

use foldback_stages::estimator::{Observation, mul_div};
use serde::{Deserialize, Serialize};

/// Calls after the first that a scale is made of, at least.
const LEAST_CALLS: usize = 5;

/// Share of a recorded size, one in so many, by which half of the calibrated ones may be off at most. Where they are
/// further off, the recorder sent something else than its log.
const TOLERANCE: u64 = 10;

/// Parts per million, in which κ is kept.
const PPM: u64 = 1_000_000;

/// From measured tokens to those of the recording's provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// κ in parts per million.
    pub kappa_ppm: u64,
    /// n₀.
    measured: u64,
    /// u₀.
    recorded: u64,
}

impl Scale {
    /// The scale of a session by its calls (see [`observations`](crate::read::calibrate::observations)); `None` where they
    /// are too few or lie on no line.
    pub(crate) fn fit(calls: &[Observation]) -> Option<Self> {
        let (first, later) = calls.split_first()?;
        let mut steps: Vec<(u64, u64)> = later
            .iter()
            .filter_map(|call| {
                let more = call.estimate.checked_sub(first.estimate).filter(|more| *more > 0)?;
                Some((mul_div(call.usage.saturating_sub(first.usage), PPM, more), more))
            })
            .collect();
        if steps.len() < LEAST_CALLS {
            return None;
        }
        // Only where nothing is missing in the file can the estimate be above what was recorded.
        let unrecorded = first.usage.saturating_sub(first.estimate);
        let scale = Self {
            kappa_ppm: weighted_median(&mut steps)?,
            measured: first.estimate + unrecorded,
            recorded: first.usage,
        };
        let off = later.iter().filter(|call| {
            let calibrated = scale.request(call.estimate + unrecorded);
            calibrated.abs_diff(call.usage) > call.usage / TOLERANCE
        });
        (off.count() * 2 <= later.len()).then_some(scale)
    }

    /// The calibrated size of a request of so many measured tokens, what was not recorded included.
    pub fn request(&self, tokens: u64) -> u64 {
        let step = mul_div(tokens.abs_diff(self.measured), self.kappa_ppm, PPM);
        moved(self.recorded, step, tokens < self.measured)
    }

    /// The measured size of a request that the provider counted so many tokens for.
    pub(crate) fn measured(&self, recorded: u64) -> u64 {
        let step = mul_div(recorded.abs_diff(self.recorded), PPM, self.kappa_ppm.max(1));
        moved(self.measured, step, recorded < self.recorded)
    }
}

fn moved(from: u64, step: u64, down: bool) -> u64 {
    if down { from.saturating_sub(step) } else { from.saturating_add(step) }
}

/// The least value up to which values have half of all weight.
fn weighted_median(values: &mut [(u64, u64)]) -> Option<u64> {
    values.sort_unstable();
    let whole: u64 = values.iter().map(|(_, weight)| weight).sum();
    let mut passed = 0;
    let reached = values.iter().find(|(_, weight)| {
        passed += weight;
        passed * 2 >= whole
    });
    reached.map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(pairs: &[(u64, u64)]) -> Vec<Observation> {
        pairs.iter().map(|(estimate, usage)| Observation::new(*estimate, *usage)).collect()
    }

    #[test]
    fn a_scale_meets_what_was_recorded() {
        // A frame of 1,000 that was not recorded, and 1.5 tokens of the provider for each of ours.
        let line: Vec<(u64, u64)> = (0..6).map(|n| (100 + 200 * n, 1_100 + 300 * n)).collect();
        let scale = Scale::fit(&calls(&line)).unwrap();
        assert_eq!(scale.kappa_ppm, 1_500_000);
        // Requests hold what was not recorded: 1,000 tokens that are not scaled.
        assert_eq!(scale.request(1_100), 1_100);
        assert_eq!(scale.request(2_100), 2_600);
        // A view that is smaller than the first request.
        assert_eq!((scale.request(1_060), scale.request(0)), (1_040, 0));
        // And back.
        assert_eq!([1_100, 2_600, 1_040].map(|sent| scale.measured(sent)), [1_100, 2_100, 1_060]);
    }

    #[test]
    fn large_steps_decide() {
        // Every message costs 20 tokens that the estimate lacks; most are small.
        let mut pairs = vec![(10, 30)];
        for size in [10, 10, 10, 5_000, 10, 10, 8_000] {
            let (estimate, usage) = *pairs.last().unwrap();
            pairs.push((estimate + size, usage + size * 6 / 5 + 20));
        }
        let kappa = Scale::fit(&calls(&pairs)).unwrap().kappa_ppm;
        assert!((1_200_000..1_230_000).contains(&kappa), "{kappa}");
    }

    #[test]
    fn what_tells_nothing_gives_none() {
        let few = [(10, 20), (20, 30), (30, 40), (40, 50), (50, 60)];
        // The request does not follow the log: the recorder drops what it does not say.
        let dropped: Vec<(u64, u64)> =
            (0..10).map(|n| (1_000 * n, [500, 900 * n, 300 * n][n as usize % 3])).collect();
        let same = [(10, 20); 9];
        for pairs in [&[][..], &few[..], &dropped[..], &same[..]] {
            assert_eq!(Scale::fit(&calls(pairs)), None, "{pairs:?}");
        }
    }
}
