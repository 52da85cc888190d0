//! Policies: fold now, and how far down?

mod window_fraction;

pub use window_fraction::{WindowFraction, WindowFractionConfig};
