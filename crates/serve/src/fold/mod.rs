//! From the body of a request to the body that its provider is sent, and what is remembered between the two.

pub(crate) mod conversations;
pub(crate) mod idle;
pub(crate) mod prefix;
pub(crate) mod threads;
pub(crate) mod turn;
pub(crate) mod watch;
mod windows;

/// Number of a conversation, from 1.
pub(crate) type Id = u64;
