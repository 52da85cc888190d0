//! Pruners that no strategy owns: they clear tool results, and differ in which and when.
//!
//! | pruner | clears | when |
//! |---|---|---|
//! | [`evict`](Evict) | as many as bring the request down to a target, in a chosen order | the request is above a trigger |
//! | [`keep-last`](KeepLast) | all but the newest N | one, or a batch, more has come |
//! | [`clear-tool-uses`](ClearToolUses) | all but the newest few | what is counted is above a trigger |
//!
//! All leave the message and its call where they are, so pairs stay whole, and all leave alone what
//! was cleared before and what would not get smaller.

mod clear_tool_uses;
mod evict;
mod keep_last;
mod placeholder;
mod results;

pub use clear_tool_uses::{AtLeast, ClearToolUses, ClearToolUsesConfig, Counted, Inputs};
pub use evict::{Candidate, Demand, Evict, EvictConfig, Order, nothing_left};
pub use keep_last::{KeepLast, KeepLastConfig, boundary};
pub use results::DEFAULT_PLACEHOLDER;
