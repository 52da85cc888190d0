//! The compaction of the coding agent pi: when the request comes within a reserve of the window, everything before the newest
//! 20,000 tokens becomes a summary.
//!
//! | stage | what it does |
//! |---|---|
//! | `pi.checkpoint` | cuts at a message that reaches the tokens to keep, in the middle of a turn if need be ([`cut`]), and lists the files of the summarized calls ([`files`]) |
//!
//! The stages `oh-my-pi.…` are those of a fork ([`omp`]).
//!
//! Estimator and policy are configurations of the common stages `chars` and `answer-usage`. The README of this crate is the page of
//! the preset.

mod checkpoint;
pub mod cut;
pub mod files;
pub mod omp;

pub use checkpoint::{Checkpoint, CheckpointConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::pruner::<omp::StaleConfig>(
            "oh-my-pi.stale",
            "When a turn ends, clears reads that a newer one has made stale, where that is cheap for the cache",
        ),
        StageDescriptor::pruner::<omp::ShakeConfig>(
            "oh-my-pi.shake",
            "Puts short lines in place of tool results and of long blocks in what was said",
        ),
        StageDescriptor::filter::<CheckpointConfig>(
            "pi.checkpoint",
            "A summary of everything before the newest messages; a turn that is split gets one of its own",
        ),
        StageDescriptor::filter::<omp::OmpCheckpointConfig>(
            "oh-my-pi.checkpoint",
            "The same, unless shaking was enough",
        ),
    ],
    presets: foldback_core::presets!["pi", "pi-0.87", "oh-my-pi"],
};

foldback_core::inventory::submit! { REGISTRATION }
