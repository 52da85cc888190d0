//! What the recorder did to its own context, and the consequences.
//!
//! A replay assumes that a recording is what the agent saw. If the recorder masked or compacted, that
//! is false, and the measures favor the recorder's own policy. This module detects it from the
//! recording alone:
//!
//! - [`policy`]: which context policy fits the recorded usage (all of it, the last k observations, …);
//! - [`drops`]: compactions that only show in the usage, for recordings without markers;
//! - [`rereads`](fn@rereads()): which of the results that a compaction dropped the agent really read again, and
//!   [`pool`]: how often a would-be re-read becomes a real one, over many sessions.

mod access;
mod conversion;
mod drops;
mod policy;
mod rereads;
mod survey;
mod totals;
mod window;

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;

pub use access::Kind;
pub use conversion::{
    Conversion, HORIZONS, Horizon, KindRates, Pooled, Rate, Session as PooledSession, pool,
};
pub use drops::{Drop, drops};
pub use policy::{Basis, Candidate, FITS, Policy, RecorderPolicy, policy};
pub use rereads::{Aftermath, DroppedResult, SessionRereads, rereads};
pub use survey::{Survey, Surveyed, survey};
pub use totals::{GroupPolicy, Total, by_totals};
