//! Tuning: a strategy's fields varied over a grid or a sample, what each configuration costs and forgets,
//! and which are on the front of both.
//!
//! Sessions are split by a hash of their ids ([`Split`](crate::Split)): configurations are chosen on the one
//! part and reported on the other, so that no parameter is reported on the sessions that it was chosen on. The
//! result is a front, not a number: cost and retention have no common unit.
//!
//! - [`Range`] and [`Search`] say which values are tried, [`Field`] where they are set.
//! - A [`Candidate`] is compiled from the file that a user would write, so what was measured is what the
//!   file does.
//! - [`Bench`] replays them and finds their [`front`](crate::compare::front); [`advice`] picks one for a budget, from the
//!   [`sweeps`] of all presets. [`agents`] does so for the settings of an agent that people run.

pub mod advice;
pub mod agents;
mod candidate;
mod field;
mod range;
mod run;
mod space;
pub mod sweeps;

pub use candidate::{Candidate, Header, Rejected, candidates, plain};
pub use field::Field;
pub use range::Range;
pub use run::AgainstOwn;
pub use run::{Bench, Measured, PartSummary, Trial, TuneError, Tuned};
pub(crate) use space::MOST;
pub use space::Search;
