//! Policies: fold now, and how far down?

mod answer_usage;
mod window_fraction;

pub use answer_usage::{
    AnswerUsage, AnswerUsageConfig, Comparison, EstimateUse, InputLimit, TokenClass,
};
pub use window_fraction::{WindowFraction, WindowFractionConfig};

use foldback_core::registry::Invalid;

/// Refuses what is no share.
///
/// # Errors
///
/// A number that is not above 0 and at most 1.
pub fn check_share(field: &'static str, share: f64) -> Result<(), Invalid> {
    if share > 0.0 && share <= 1.0 {
        return Ok(());
    }
    Err(Invalid::new(field, "must be a share above 0 and up to 1, e.g. 0.9"))
}
