//! How many units a trial needs, by the spread of recorded bills.

use crate::compare::SampleSize;
use crate::stats::Estimate;
use serde::Serialize;

/// A plan.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Sessions whose bills are known.
    pub sessions: usize,
    /// Arms.
    pub arms: usize,
    /// Mean dollars of a session.
    pub mean_usd: f64,
    /// Standard deviation of their dollars, to the mean.
    pub spread: f64,
    /// What differences need.
    pub sizes: Vec<PlannedSize>,
}

/// What a difference needs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlannedSize {
    /// By how much an arm costs less than the first.
    pub difference: f64,
    /// Units of each arm.
    pub each: usize,
    /// Units of all arms.
    pub units: usize,
    /// What they would cost without a difference.
    pub usd: f64,
}

impl Plan {
    /// A plan for so many arms, by the dollars of sessions that are like the units to come. `None` with fewer than three.
    pub fn new(bills: &[f64], arms: usize) -> Option<Self> {
        let n = bills.len() as f64;
        let mean = bills.iter().sum::<f64>() / n;
        if bills.len() < super::LEAST || mean <= 0.0 {
            return None;
        }
        let squares = bills.iter().map(|usd| (usd - mean).powi(2)).sum::<f64>();
        let spread = (squares / (n - 1.0)).sqrt() / mean;
        // The standard error of the logarithm of two means, were the sessions two arms of the same size.
        let se = Some(2.0 * spread / n.sqrt());
        let estimate = Estimate { se, clusters: bills.len(), ..Estimate::default() };
        let size = |difference: f64| {
            let both =
                SampleSize::units(&estimate, arms.saturating_sub(1), -f64::ln_1p(-difference))?;
            let (each, units) = (both.div_ceil(2), both.div_ceil(2) * arms);
            Some(PlannedSize { difference, each, units, usd: mean * units as f64 })
        };
        let sizes = [0.05, 0.1, 0.2].into_iter().filter_map(size).collect();
        Some(Self { sessions: bills.len(), arms, mean_usd: mean, spread, sizes })
    }
}
