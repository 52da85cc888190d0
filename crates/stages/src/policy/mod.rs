//! Policies: fold now, and how far down?

mod answer_usage;
mod break_even;
mod window_fraction;

pub use answer_usage::{
    AnswerUsage, AnswerUsageConfig, Comparison, EstimateUse, InputLimit, TokenClass,
};
pub use break_even::{BreakEven, BreakEvenConfig};
pub use window_fraction::{WindowFraction, WindowFractionConfig};
