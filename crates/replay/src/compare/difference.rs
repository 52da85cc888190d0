//! How far apart two strategies are, how sure that is, and how many sessions would show it.

use crate::stats::{self, Estimate};
use schemars::JsonSchema;
use serde::Serialize;

/// A paired difference over sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Ratio of bills first to second, or difference of shares first minus second; `null` if
    /// neither applies.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Two-sided p-value of the sign-flip test over clusters.
    pub p: Option<f64>,
    /// The same after Holm's adjustment over the family: all pairs of strategies by this metric, or all that are compared with
    /// the base; `null` for pairs with a control, which are exploratory.
    pub p_holm: Option<f64>,
    /// Sessions.
    pub n: usize,
    /// The adjusted test does not separate the two, or there are too few sessions for one.
    pub tie: bool,
}

/// How many repositories or sessions in which something acts, whichever is the unit of the corpus, would show a difference to
/// the base: in four of five comparisons of as many presets, by the test of the verdict, if they spread as those here do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SampleSize {
    /// How many there are here.
    pub here: usize,
    /// A difference of 5 % of the bill.
    pub five_percent: usize,
    /// A difference of 10 %.
    pub ten_percent: usize,
}

impl SampleSize {
    /// Clusters that a difference needs, if they spread as those of an estimate.
    pub(crate) fn units(estimate: &Estimate, choices: usize, difference: f64) -> Option<usize> {
        // The first step of Holm's adjustment, which is its strictest.
        let alpha = SAVING_ALPHA / choices.max(1) as f64;
        let (se, here) = (estimate.se?, estimate.clusters);
        Some(stats::clusters_needed(se, here, difference, alpha, POWER))
    }

    pub(crate) fn by_spread(estimate: &Estimate, choices: usize) -> Option<Self> {
        let needed = |difference| Self::units(estimate, choices, difference);
        Some(Self {
            here: estimate.clusters,
            five_percent: needed(0.05)?,
            ten_percent: needed(0.1)?,
        })
    }
}

impl Difference {
    /// The same seen from the other side.
    pub(super) fn turned(&self, turn: fn(f64) -> f64) -> Self {
        Self {
            value: self.value.map(turn),
            lo: self.hi.map(turn),
            hi: self.lo.map(turn),
            ..self.clone()
        }
    }

    /// Whether the first is measurably cheaper.
    pub fn saves(&self) -> bool {
        self.value.is_some_and(|ratio| ratio < SAME_BILL) && self.is_likely()
    }

    /// Whether the first is measurably dearer.
    pub(crate) fn costs_more(&self) -> bool {
        self.value.is_some_and(|ratio| ratio > SAME_BILL) && self.is_likely()
    }

    /// Whether the one-sided test confirms the side of no difference on which the value lies. To stay with the dearer preset costs money, too,
    /// so one in ten such answers may be wrong.
    pub fn is_likely(&self) -> bool {
        self.p_holm.is_some_and(|p| p / 2.0 <= SAVING_ALPHA)
    }

    pub(crate) fn new(estimate: Estimate) -> Self {
        let Estimate { value, lo, hi, p, n, .. } = estimate;
        Self { value, lo, hi, p, p_holm: None, n, tie: p.is_none_or(|p| p > ALPHA) }
    }
}

/// Ratio of two bills that are the same.
pub(super) const SAME_BILL: f64 = 1.0;

/// A difference is measurable below this p-value.
pub(super) const ALPHA: f64 = 0.05;

/// The same of the one-sided question whether something saves or costs more.
const SAVING_ALPHA: f64 = 0.1;

/// Share of comparisons that find the difference of a [`SampleSize`].
const POWER: f64 = 0.8;
