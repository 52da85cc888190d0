//! What the recorder did to its own context.
//!
//! A replay assumes that a recording is what the agent saw. If the recorder masked or compacted, that
//! is false, and the measures favor the recorder's own policy. This module detects it from the
//! recording alone:
//!
//! - [`policy`]: which context policy fits the recorded usage (all of it, the last k observations, …);
//! - `drops`: compactions that only show in the usage, for recordings without markers;
//! - [`RecordedSummaries`]: what its own compactions wrote.

mod drops;
mod fit;
mod policy;
mod summaries;

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;

pub(crate) use drops::drops;
pub use fit::Policy;
pub use fit::RecorderPolicy;
pub(crate) use policy::policy;
pub use summaries::Recorded;
pub(crate) use summaries::{RecordedSummaries, replaced};
