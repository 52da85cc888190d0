#![doc = include_str!("../README.md")]

pub mod count;
pub mod cut;
mod filter;
mod mask;
pub mod preview;
mod standing;
mod starts;
mod verify;

pub use count::{Count, CountConfig, What};
pub use filter::{Snapshot, SnapshotConfig};
pub use mask::{Mask, MaskConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::estimator::<CountConfig>(
            "gemini.count",
            "Gemini CLI's estimate of tokens, and the length of messages as JSON",
        ),
        StageDescriptor::pruner::<MaskConfig>(
            "gemini.mask",
            "Before a request, old tool results become previews, once enough of them can",
        ),
        StageDescriptor::filter::<SnapshotConfig>(
            "gemini.snapshot",
            "Cuts results over a budget; a summary in two passes replaces all but the newest share",
        ),
    ],
    presets: foldback_core::presets!["gemini-cli"],
};

foldback_core::inventory::submit! { REGISTRATION }
