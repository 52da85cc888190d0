//! Policies: fold now, and how far down?

mod answer_usage;
mod window_fraction;

pub use answer_usage::{
    AnswerUsage, AnswerUsageConfig, Comparison, EstimateUse, InputLimit, TokenClass,
};
pub use window_fraction::{WindowFraction, WindowFractionConfig};
