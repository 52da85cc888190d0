//! What an agent loop needs around a conversation.
//!
//! | for | here |
//! |---|---|
//! | triggering the moments, and what comes next | [`AgentLoop`], [`Next`] |
//! | reaching what was cleared | [`recall`], and [`tools`] to offer it to the model |
//! | a conversation that comes request by request, each with all messages | [`follow`] |
//! | surviving a crash | [`journal`] |
//! | an experiment with live agents: the record of a trial, and its guard | [`trial`] |
//! | watching | [`channel`] for events, [`metrics`] for counters |
//!
//! Each works on its own: an agent that has its own loop can use the journal, and one that needs no
//! journal can use the metrics.

mod agent;
pub mod channel;
mod clock;
pub mod follow;
pub mod journal;
pub mod metrics;
pub mod recall;
pub mod tools;
pub mod trial;

pub use agent::{AgentLoop, NO_RESULT, Next, Stopped};
pub use channel::ChannelObserver;
pub use clock::SystemClock;
pub use journal::Journal;
pub use metrics::Metrics;
pub use recall::Recall;
