//! What is measured on a replay: what was in view of what calls needed, how the view changed, and what its requests cost.

pub mod availability;
pub mod cost;
pub(crate) mod measures;
pub(crate) mod request;
pub(crate) mod reread;
pub mod retention;
pub mod spent;
