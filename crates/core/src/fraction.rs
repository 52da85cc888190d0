//! Fractions of a whole, in integers.
//!
//! `0.7 * 90` is 62.99… as a double, so a floor over doubles gives 62 where 63 is meant; of the
//! numbers below 3,000 this happens to seventy. A fraction is therefore kept in millionths, so that
//! `0.80` means exactly four fifths.

/// A fraction of a whole, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(u64);

impl Fraction {
    /// All of it.
    pub const WHOLE: Self = Self(1_000_000);

    /// So many hundredths.
    pub fn percent(percent: u32) -> Self {
        Self(u64::from(percent) * 10_000)
    }

    /// A number from 0 to 1, to the nearest millionth.
    pub fn from_number(number: f64) -> Self {
        Self((number.clamp(0.0, 1.0) * 1e6).round() as u64)
    }

    /// The number, for people.
    pub fn number(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// This fraction of a whole, rounded down.
    pub fn floor_of(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.0) / 1_000_000;
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// This fraction of a whole, rounded up.
    pub fn ceil_of(self, whole: u64) -> u64 {
        let part = (u128::from(whole) * u128::from(self.0)).div_ceil(1_000_000);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}
