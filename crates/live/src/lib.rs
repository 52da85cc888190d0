//! What an agent loop needs around a conversation.

mod agent;

pub use agent::{AgentLoop, Next, Stopped};
