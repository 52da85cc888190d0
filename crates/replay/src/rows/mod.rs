//! What is kept of sessions under presets, in memory and on disk.

mod error;
pub mod parts;
pub(crate) mod store;
pub mod study;

pub use error::CompareError;
