//! What an agent loop needs around a conversation.
//!
//! | for | here |
//! |---|---|
//! | saying which moment it is, and what comes next | [`AgentLoop`], [`Next`] |
//! | reaching what was cleared | [`recall`], and [`tools`] to offer it to the model |
//! | surviving a crash | [`journal`] |
//! | watching | [`channel`] for events, [`metrics`] for counters |
//!
//! Each stands alone: an agent that has its own loop can take the journal, and one that needs no
//! journal can take the metrics.

mod agent;
pub mod channel;
mod clock;
pub mod journal;
pub mod metrics;
pub mod recall;
pub mod tools;

pub use agent::{AgentLoop, NO_RESULT, Next, Stopped};
pub use channel::ChannelObserver;
pub use clock::SystemClock;
pub use journal::Journal;
pub use metrics::Metrics;
pub use recall::Recall;
