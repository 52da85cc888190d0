//! Controls: what a strategy is compared with, in addition to no compaction.
//!
//! *Presets* that know no more than a strategy does are ordinary ones (`random`, `keep-last-1`,
//! `drop-oldest`, in `foldback-stages`). This module has the others:
//!
//! - [`clairvoyant`]: the same eviction as `evict`, at the same trigger and target, choosing by what
//!   will be needed. It is replayed and measured like a preset.
//! - [`clairvoyant_lines`]: the same again, but what is cleared keeps the lines that later calls reuse: what
//!   whoever writes placeholders or summaries could keep.
//!
//! What will be needed is known to [`Foresight`] alone. Nothing that is to be recommended may hold
//! one: no agent has it. The greedy choice is a baseline and no bound; the best choice is caching with
//! items of different sizes and NP-hard (Berger, Beckmann and Harchol-Balter, "Practical Bounds on
//! Optimal Caching with Variable Object Sizes", SIGMETRICS 2018).

mod clairvoyant;
mod foresight;
mod holders;
mod lines;
#[cfg(test)]
mod tests;

pub use clairvoyant::clairvoyant;
pub(crate) use clairvoyant::control;
pub use foresight::Foresight;
pub use lines::clairvoyant_lines;

use crate::read::index::Index;
use foldback_core::registry::Invalid;
use foldback_core::strategy::Strategy;
use foldback_stages::pruner::EvictConfig;
use std::sync::Arc;

/// A control that sees the future, to be made for a session.
#[derive(Clone, Debug)]
pub enum Seer {
    /// [`clairvoyant`].
    Evict(EvictConfig),
    /// [`clairvoyant_lines`].
    Lines(EvictConfig),
}

impl Seer {
    /// The strategy for one session, which can be replayed once.
    ///
    /// # Errors
    ///
    /// What `evict` refuses.
    pub fn strategy(
        &self,
        index: &Arc<Index>,
        foresight: &Arc<Foresight>,
    ) -> Result<Strategy, Invalid> {
        match self {
            Self::Evict(config) => clairvoyant(Arc::clone(foresight), config.clone()),
            Self::Lines(config) => clairvoyant_lines(Arc::clone(index), config.clone()),
        }
    }
}
