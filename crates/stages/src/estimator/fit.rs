//! Fits an estimator to the usage that a session recorded: `usage ≈ κ · estimate + h`.
//!
//! κ is the estimator's error on this model's tokenizer, h what the recorder sent and did not write
//! down (system prompt, tool definitions). κ is the median ratio of the increments from one call to
//! the next, which h drops out of; h is what the first call leaves unexplained.

use serde::{Deserialize, Serialize};

/// Parts per million: κ as an integer, so that the same fit prints the same everywhere.
const PPM: u64 = 1_000_000;

/// One call of a session: what was estimated, and what the provider counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Tokens of the request by the estimator.
    pub estimate: u64,
    /// Tokens of the request as recorded ([`foldback_core::log::Usage::input_total`]).
    pub usage: u64,
    /// A compaction lies between this call and the one before: the step says nothing about κ.
    pub after_fold: bool,
}

impl Observation {
    /// A call with no compaction before it.
    pub fn new(estimate: u64, usage: u64) -> Self {
        Self { estimate, usage, after_fold: false }
    }
}

/// A fitted line from estimates to usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// κ in parts per million.
    pub kappa_ppm: u64,
    /// h in tokens per request.
    pub overhead: u64,
    /// Mean absolute percentage error over the calls that were fitted, in parts per million.
    pub mape_ppm: u64,
    /// How many increments κ is the median of; with none κ is 1.
    pub steps: usize,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { kappa_ppm: PPM, overhead: 0, mape_ppm: 0, steps: 0 }
    }
}

impl Calibration {
    /// κ · tokens, rounded half up, without the overhead.
    pub fn scale(&self, tokens: u64) -> u64 {
        mul_div(tokens, self.kappa_ppm, PPM)
    }

    /// What the provider would count for a request of so many estimated tokens: κ · tokens + h.
    pub fn request(&self, tokens: u64) -> u64 {
        self.scale(tokens) + self.overhead
    }
}

/// A fit that grows call by call.
///
/// A step counts toward κ when no compaction lies in it, both numbers grew, and both calls recorded
/// a usage (some recorders write zero for a call that was cut off).
#[derive(Clone, Debug, Default)]
pub struct Fit {
    first: Option<Observation>,
    last: Option<Observation>,
    /// Ratio of each step in parts per million, ascending.
    ratios: Vec<u64>,
}

impl Fit {
    /// The next call.
    pub fn add(&mut self, call: Observation) {
        if let Some(ratio) = self.last.and_then(|before| ratio(before, call)) {
            let place = self.ratios.partition_point(|known| *known <= ratio);
            self.ratios.insert(place, ratio);
        }
        if self.first.is_none() && call.usage > 0 {
            self.first = Some(call);
        }
        self.last = Some(call);
    }

    /// The calibration on the calls so far, without its error; `None` without any call of recorded usage.
    pub fn calibration(&self) -> Option<Calibration> {
        let first = self.first?;
        let kappa_ppm = median(&self.ratios).unwrap_or(PPM);
        let scaled = mul_div(first.estimate, kappa_ppm, PPM);
        let overhead = first.usage.saturating_sub(scaled);
        Some(Calibration { kappa_ppm, overhead, mape_ppm: 0, steps: self.ratios.len() })
    }
}

/// The calibration of a session, from its calls in order; `None` without any call of recorded usage.
pub fn fit(calls: &[Observation]) -> Option<Calibration> {
    let mut fit = Fit::default();
    calls.iter().for_each(|call| fit.add(*call));
    let calibration = fit.calibration()?;
    Some(Calibration { mape_ppm: mape(calls, &calibration), ..calibration })
}

/// Recorded tokens per estimated token from one call to the next, where the step says something.
fn ratio(before: Observation, after: Observation) -> Option<u64> {
    if after.after_fold || before.usage == 0 {
        return None;
    }
    let estimated = after.estimate.checked_sub(before.estimate)?;
    let used = after.usage.checked_sub(before.usage)?;
    (estimated > 0 && used > 0).then(|| mul_div(used, PPM, estimated))
}

fn mape(calls: &[Observation], calibration: &Calibration) -> u64 {
    let errors: Vec<u64> = calls
        .iter()
        .filter(|call| call.usage > 0)
        .map(|call| {
            let error = calibration.request(call.estimate).abs_diff(call.usage);
            mul_div(error, PPM, call.usage)
        })
        .collect();
    let sum: u64 = errors.iter().sum();
    sum.checked_div(errors.len() as u64).unwrap_or(0)
}

/// The median of ascending values.
fn median(values: &[u64]) -> Option<u64> {
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(values[middle - 1].midpoint(upper))
}

/// `a · b / c`, rounded half up, without overflow on the way; the largest number where it is none. `c` must not be zero.
pub fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    let (a, b, c) = (u128::from(a), u128::from(b), u128::from(c));
    u64::try_from((a * b + c / 2) / c).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(pairs: &[(u64, u64)]) -> Vec<Observation> {
        pairs.iter().map(|(estimate, usage)| Observation::new(*estimate, *usage)).collect()
    }

    #[test]
    fn fits_as_tables() {
        // name, (estimate, usage) per call, κ in ppm, h, MAPE in ppm, steps
        type Case = (&'static str, &'static [(u64, u64)], u64, u64, u64, usize);
        let cases: [Case; 8] = [
            ("an exact line", &[(100, 620), (200, 740), (400, 980)], 1_200_000, 500, 0, 2),
            ("one call gives h alone", &[(100, 620)], 1_000_000, 520, 0, 0),
            (
                "the median of two is their mean",
                &[(0, 100), (100, 200), (200, 500)],
                2_000_000,
                100,
                // predicted 100, 300, 500 against 100, 200, 500
                166_666,
                2,
            ),
            (
                "an outlier does not move the median",
                &[(0, 10), (100, 110), (200, 210), (300, 9_310), (400, 9_410)],
                1_000_000,
                10,
                // 0, 0, 0, 9 000/9 310, 9 000/9 410, over five calls
                384_626,
                4,
            ),
            (
                "a shrinking request is no step",
                &[(1_000, 1_100), (200, 300), (300, 400)],
                1_000_000,
                100,
                0,
                1,
            ),
            (
                "a call without usage is neither first nor a step",
                &[(50, 0), (100, 150), (200, 250)],
                1_000_000,
                50,
                0,
                1,
            ),
            ("h is never below zero", &[(500, 100), (600, 200)], 1_000_000, 0, 3_000_000, 1),
            (
                "a step without estimate is no step",
                &[(100, 100), (100, 150)],
                1_000_000,
                0,
                166_666,
                0,
            ),
        ];
        for (name, pairs, kappa_ppm, overhead, mape_ppm, steps) in cases {
            let expected = Calibration { kappa_ppm, overhead, mape_ppm, steps };
            assert_eq!(fit(&calls(pairs)), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_step_with_a_compaction_in_it_is_left_out() {
        let mut session = calls(&[(100, 200), (200, 300), (300, 9_000), (400, 9_100)]);
        session[2].after_fold = true;
        let fitted = fit(&session).unwrap();
        assert_eq!((fitted.kappa_ppm, fitted.steps), (1_000_000, 2));
    }

    #[test]
    fn nothing_recorded_fits_nothing() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&calls(&[(100, 0), (200, 0)])), None);
    }
}
