//! Statistics of a comparison: how large a difference is, and how sure.
//!
//! The unit is the session; sessions of one task or repository depend on each other and are left out and
//! flipped together (Miller, "Adding Error Bars to Evals", arXiv 2411.00640). Every strategy sees every
//! session, so differences are paired. Holm's adjustment is over the family that was named beforehand.
//!
//! Everything here is a pure function of its arguments, seed included.

mod assigned;
mod estimate;
mod rng;
mod sample;
mod share;
mod simple;

pub(crate) use assigned::assigned;
pub use estimate::Pair;
pub(crate) use estimate::{
    mean_saving, proportion, proportion_difference, ratio_of_totals, tested_mean,
    tested_ratio_of_totals,
};
pub use rng::SplitMix64;
pub(crate) use sample::clusters;
pub use sample::{Estimate, Sample};
pub use share::Share;
pub(crate) use simple::{clusters_needed, holm};
