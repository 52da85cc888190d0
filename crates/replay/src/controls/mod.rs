//! Controls: what a strategy is measured against besides not compacting at all.
//!
//! *Presets* that know no more than a strategy does are ordinary ones (`random`, `keep-last-1`,
//! `drop-oldest`, in `foldback-stages`). Here is what is none:
//!
//! - [`clairvoyant`]: the same eviction as `evict`, at the same trigger and target, choosing by what
//!   will be needed. It is replayed and measured like a preset.
//! - [`MatchedControls`]: for one replay of any strategy, two shadows that are never larger than its views,
//!   one choosing at random and one by what will be needed. [`nfr`] puts the strategy's retention on
//!   the scale between the two.
//!
//! What will be needed is known to [`Foresight`] alone. Nothing that is to be recommended may hold
//! one: no agent has it. The greedy choice is a baseline and no bound; the best choice is caching with
//! items of different sizes and NP-hard (Berger, Beckmann and Harchol-Balter, "Practical Bounds on
//! Optimal Caching with Variable Object Sizes", SIGMETRICS 2018).

mod choice;
mod clairvoyant;
mod foresight;
mod holders;
mod matched;
mod retention;
#[cfg(test)]
mod tests;

pub use clairvoyant::clairvoyant;
pub use foresight::{FactId, Foresight, Hindsight};
pub use matched::{Kept, Matched, MatchedControls, STUB_TOKENS, view_sizes};
pub use retention::{MIN_GAP, NotBinding, nfr};
