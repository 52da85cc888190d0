//! Filters that no strategy owns, and what filters share that put a summary in the place of old messages.

mod drop_oldest;
mod drop_pairs;
mod replace;
mod request;

pub use drop_oldest::{DropOldest, DropOldestConfig, head};
pub use drop_pairs::{By, DropPairs, DropPairsConfig, Pair, PairsConfig, Scorer};
pub use replace::{Spoken, arranged, check_open_calls, entry, shown, summary_of};
pub use request::{cut_results, first_chars, first_units};
