//! The compaction of DeepSeek Harness: at 80 % of the window, long tool results lose their middle; if that is not enough,
//! everything before the newest 16 % becomes a checkpoint.
//!
//! | stage | what it does |
//! |---|---|
//! | `dsh.prune` | cuts the middle out of every long tool result of the view |
//! | `dsh.checkpoint` | measures again, and only then summarizes everything before the newest messages |
//!
//! Estimator and policy are configurations of the common stages `chars` and `answer-usage`. The README of this crate is the page of
//! the preset.

mod checkpoint;
mod prune;

pub use checkpoint::{Checkpoint, CheckpointConfig};
pub use prune::{MARKER, Prune, PruneConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::pruner::<PruneConfig>(
            "dsh.prune",
            "Cuts the middle out of every long tool result of the view",
        ),
        StageDescriptor::filter::<CheckpointConfig>(
            "dsh.checkpoint",
            "A summary of everything before the newest messages, unless clearing was enough",
        ),
    ],
    presets: foldback_core::presets!["dsh"],
};

foldback_core::inventory::submit! { REGISTRATION }
