//! Size and pressure: how large the requests are, how often something fires, and what attention costs.
//!
//! With C_t the tokens of request t (frame and view, by the measuring estimator) and o_t the tokens of
//! its answer:
//!
//! | measure | formula | unit |
//! |---|---|---|
//! | cumulative | Σ C_t | tokens |
//! | peak | max C_t | tokens |
//! | mean | Σ C_t / T | tokens |
//! | p95 | nearest rank: the ⌈0.95·T⌉-th smallest C_t | tokens |
//! | exposure above θ | #{t : C_t > θ} / T, θ of [`THETAS`] and 0.8 of the ceiling | share of calls |
//! | firings | 100·K / T, K calls before which something changed the view | per 100 calls |
//! | calls between firings | differences of their call numbers: median, least | calls |
//! | dependency | Σ (C_t + o_t/2)·o_t | token² |
//!
//! Exposure follows the observation that models get worse with length (Chroma, *Context Rot*, 2025; Liu
//! et al., *Lost in the Middle*, 2024); no single θ is right, so the curve is given. Dependency is the
//! area of attention while decoding, as MEM1 (Zhou et al. 2025, `Mem1/inference/eval.py`) defines it.
//!
//! [`Sizes`] holds sums, a maximum and a histogram, so sessions [merge](Sizes::merge) into a corpus and
//! every quotient is then one over all calls. A percentile does not merge: p95 belongs to one session,
//! and a corpus is described by the median of its sessions' p95s.

use crate::totals::CallRow;
use serde::{Deserialize, Serialize};

/// Sizes above which the share of calls is taken, in tokens.
pub const THETAS: [u64; 6] = [8_000, 16_000, 32_000, 64_000, 128_000, 200_000];

/// One request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// C_t: tokens of frame and view.
    pub input: u64,
    /// o_t: tokens of the answer.
    pub output: u64,
    /// The largest request that the provider would take.
    pub ceiling: Option<u64>,
    /// Something changed the view since the call before.
    pub fired: bool,
}

impl Call {
    /// The call of a row of the replay; rows do not know their answers, so `output` is given.
    pub fn of_row(row: &CallRow, output: u64) -> Self {
        Self { input: row.input_tokens, output, ceiling: row.ceiling, fired: !row.fired.is_empty() }
    }
}

/// Totals over the calls of one session, or of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// T.
    pub calls: u64,
    /// Σ C_t.
    pub cumulative: u64,
    /// max C_t.
    pub peak: u64,
    /// Calls above each of [`THETAS`].
    pub above: [u64; THETAS.len()],
    /// Calls above 0.8 of their ceiling.
    pub above_ceiling: u64,
    /// Calls that have a ceiling.
    pub with_ceiling: u64,
    /// Calls before which something changed the view.
    pub firings: u64,
    /// Calls from one firing to the next, and how often; never across sessions.
    // In order. Most sessions have few or none, and a comparison keeps those of all.
    pub gaps: Vec<(u64, u64)>,
    /// Σ (C_t + o_t/2)·o_t.
    pub dependency: f64,
}

impl Sizes {
    /// Sums up the calls of one session, given in order.
    pub fn of(calls: &[Call]) -> Self {
        let mut out = Self::default();
        let mut last_firing = None;
        for (number, call) in calls.iter().enumerate() {
            out.calls += 1;
            out.cumulative += call.input;
            out.peak = out.peak.max(call.input);
            for (count, theta) in out.above.iter_mut().zip(THETAS) {
                *count += u64::from(call.input > theta);
            }
            if let Some(ceiling) = call.ceiling {
                out.with_ceiling += 1;
                // C > 0.8·ceiling, without rounding.
                let above = u128::from(call.input) * 5 > u128::from(ceiling) * 4;
                out.above_ceiling += u64::from(above);
            }
            if call.fired {
                out.firings += 1;
                if let Some(last) = last_firing {
                    out.add_gaps((number - last) as u64, 1);
                }
                last_firing = Some(number);
            }
            let output = call.output as f64;
            out.dependency += (call.input as f64 + output / 2.0) * output;
        }
        out.gaps.shrink_to_fit();
        out
    }

    fn add_gaps(&mut self, gap: u64, count: u64) {
        match self.gaps.binary_search_by_key(&gap, |(gap, _)| *gap) {
            Ok(at) => self.gaps[at].1 += count,
            Err(at) => self.gaps.insert(at, (gap, count)),
        }
    }

    /// Adds the totals of other sessions.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cumulative += other.cumulative;
        self.peak = self.peak.max(other.peak);
        for (count, more) in self.above.iter_mut().zip(other.above) {
            *count += more;
        }
        self.above_ceiling += other.above_ceiling;
        self.with_ceiling += other.with_ceiling;
        self.firings += other.firings;
        for (gap, count) in &other.gaps {
            self.add_gaps(*gap, *count);
        }
        self.dependency += other.dependency;
    }

    /// Mean request; `None` without calls.
    pub fn mean(&self) -> Option<f64> {
        share(self.cumulative, self.calls)
    }

    /// The exposure curve: θ and the share of calls above it; empty without calls.
    pub fn exposure(&self) -> Vec<(u64, f64)> {
        let above = THETAS.into_iter().zip(self.above);
        above
            .filter_map(|(theta, count)| share(count, self.calls).map(|share| (theta, share)))
            .collect()
    }

    /// Share of the calls with a ceiling that are above 0.8 of it.
    pub fn exposure_ceiling(&self) -> Option<f64> {
        share(self.above_ceiling, self.with_ceiling)
    }

    /// Firings per 100 calls; `None` without calls.
    pub fn firings_per_100(&self) -> Option<f64> {
        share(100 * self.firings, self.calls)
    }

    /// Median of the calls between firings, the mean of the middle two where their number is even;
    /// `None` below two firings.
    pub fn median_gap(&self) -> Option<f64> {
        let count: u64 = self.gaps.iter().map(|(_, count)| count).sum();
        let at = |rank: u64| {
            let mut passed = 0;
            let mut gaps = self.gaps.iter();
            gaps.find_map(|(gap, count)| {
                passed += count;
                (passed > rank).then_some(*gap as f64)
            })
        };
        let upper = at(count / 2)?;
        let lower = at((count - 1) / 2)?;
        Some((lower + upper) / 2.0)
    }

    /// Fewest calls between two firings; `None` below two firings.
    pub fn least_gap(&self) -> Option<u64> {
        self.gaps.first().map(|(gap, _)| *gap)
    }
}

/// The 95th percentile of requests by nearest rank: the smallest size that at least 95 % of them do not
/// exceed. `None` without calls.
pub fn p95(inputs: &[u64]) -> Option<u64> {
    let mut sorted = inputs.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * 95).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(input: u64, output: u64, fired: bool) -> Call {
        Call { input, output, ceiling: Some(20_000), fired }
    }

    #[test]
    fn totals_of_a_session() {
        let calls = [
            call(8_000, 10, false),
            call(16_000, 3, true),
            call(16_001, 0, true),
            call(32_001, 0, false),
            call(100, 0, true),
        ];
        let sizes = Sizes::of(&calls);
        assert_eq!((sizes.calls, sizes.cumulative, sizes.peak), (5, 72_102, 32_001));
        // 8,000 is not above 8,000, and 16,000 = 0.8 of the ceiling is not above it.
        assert_eq!(sizes.above, [3, 2, 1, 0, 0, 0]);
        assert_eq!(sizes.exposure_ceiling(), Some(0.4));
        assert_eq!(sizes.exposure()[1], (16_000, 0.4));
        assert_eq!(sizes.mean(), Some(14_420.4));
        assert_eq!(sizes.firings_per_100(), Some(60.0));
        assert_eq!((sizes.median_gap(), sizes.least_gap()), (Some(1.5), Some(1)));
        // (8,000 + 5)·10 + (16,000 + 1.5)·3
        assert_eq!(sizes.dependency, 80_050.0 + 48_004.5);
    }

    #[test]
    fn gaps_do_not_reach_across_sessions() {
        let one = Sizes::of(&[call(1, 0, true), call(1, 0, false), call(1, 0, true)]);
        let other = Sizes::of(&[
            call(9, 0, true),
            call(1, 0, true),
            call(1, 0, false),
            call(1, 0, false),
            call(1, 0, true),
        ]);
        let mut both = one.clone();
        both.merge(&other);
        assert_eq!(both.gaps, [(1, 1), (2, 1), (3, 1)]);
        assert_eq!((both.median_gap(), both.least_gap()), (Some(2.0), Some(1)));
        assert_eq!((both.calls, both.peak, both.firings), (8, 9, 5));
        assert_eq!(both.with_ceiling, 8);
        let mut turned = other;
        turned.merge(&one);
        assert_eq!(both, turned);
    }

    #[test]
    fn percentile_by_nearest_rank() {
        let cases: [(Vec<u64>, Option<u64>); 5] = [
            (Vec::new(), None),
            (vec![7], Some(7)),
            ((1..=20).collect(), Some(19)),
            ((1..=21).rev().collect(), Some(20)),
            ((1..=100).collect(), Some(95)),
        ];
        for (inputs, expected) in cases {
            assert_eq!(p95(&inputs), expected, "{inputs:?}");
        }
    }

    #[test]
    fn nothing_gives_nothing() {
        let none = Sizes::of(&[]);
        assert_eq!((none.mean(), none.median_gap()), (None, None));
        assert_eq!((none.firings_per_100(), none.exposure_ceiling()), (None, None));
        assert!(none.exposure().is_empty());
    }
}
