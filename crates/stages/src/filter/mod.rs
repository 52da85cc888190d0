//! Filters that no strategy owns.

mod drop_oldest;

pub use drop_oldest::{DropOldest, DropOldestConfig};
