//! Shares of a whole, in integers.
//!
//! `0.7 * 90` is 62.99… as a double, so a floor over doubles gives 62 where 63 is meant; of the
//! numbers below 3,000 this happens to seventy. A share is therefore kept in millionths.

/// A share of a whole, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u64);

impl Share {
    /// A share of so many hundredths.
    pub fn percent(percent: u32) -> Self {
        Self(u64::from(percent) * 10_000)
    }

    /// A share given as a fraction from 0 to 1, to the nearest millionth.
    pub fn fraction(fraction: f64) -> Self {
        Self((fraction.clamp(0.0, 1.0) * 1e6).round() as u64)
    }

    /// The share of a whole, rounded down.
    pub fn floor_of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0) / 1_000_000) as u64
    }

    /// The share of a whole, rounded up.
    pub fn ceil_of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0)).div_ceil(1_000_000) as u64
    }
}
