//! The compaction of the coding agent pi: when the request comes within a reserve of the window, everything before the newest
//! 20,000 tokens becomes a summary.
//!
//! | stage | what it does |
//! |---|---|
//! | `pi.checkpoint` | cuts at a message that reaches the tokens to keep, in the middle of a turn if need be ([`cut`]), and lists the files of the summarized calls ([`files`]) |
//!
//! Estimator and policy are configurations of the common stages `chars` and `answer-usage`. The README of this crate is the page of
//! the preset.

pub mod cut;
pub mod files;
mod filter;

pub use filter::{Checkpoint, CheckpointConfig};

use foldback_core::registry::{PresetDescriptor, Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::filter::<CheckpointConfig>(
        "pi.checkpoint",
        "A summary of everything before the newest messages; a turn that is split gets one of its own",
    )],
    presets: &[
        PresetDescriptor { name: "pi", toml: include_str!("../presets/pi.toml") },
        PresetDescriptor { name: "pi-0.87", toml: include_str!("../presets/pi-0.87.toml") },
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
