//! The compression of Gemini CLI: from half of the window on, a summary in two passes stands for all but the newest share, and old tool
//! results become previews before that.
//!
//! | stage | what it does |
//! |---|---|
//! | `gemini.count` | Gemini CLI's estimate of tokens, and the length of messages as JSON ([`count`]) |
//! | `gemini.mask` | puts previews in the place of old tool results before a request ([`preview`]) |
//! | `gemini.snapshot` | cuts results over a budget and replaces all but the newest share by a summary ([`cut`]) |
//!
//! The policy is the common stage `answer-usage`. The README of this crate is the page of the preset.

pub mod count;
pub mod cut;
mod mask;
pub mod preview;
mod snapshot;
mod standing;
mod starts;
mod verify;

pub use count::{Count, CountConfig, CountUnit};
pub use mask::{Mask, MaskConfig};
pub use snapshot::{Snapshot, SnapshotConfig};

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
