//! The window compactor of Spec 09 ("Context Compaction", February 2026): when the next request would
//! take more than four fifths of the window, everything before the last two fifths becomes a summary.
//!
//! | stage | kind | when | module |
//! |---|---|---|---|
//! | `window.utilisation` | policy | before a call, after a length stop | [`utilisation`] |
//! | `window.truncate` | pruner | after a tool result | [`truncate`] |
//! | `window.split` | filter | when the policy decides to fold | [`split`], [`boundary`] |
//!
//! The presets are `window`, which keeps a tool call with its results, and `window-faithful`, which
//! has the original's defect: in a chain of tool calls its split leaves a result without its call.
//! What each does otherwise than the original is in its table of deviations, and in the README.

pub mod boundary;
pub mod budget;
pub mod request;
pub mod split;
pub mod truncate;
pub mod utilisation;

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::overflow::<utilisation::UtilisationConfig>(
            "window.utilisation",
            "Folds when system prompt, messages and the output reserve take more than a share of the window",
        ),
        StageDescriptor::pruner::<truncate::TruncateConfig>(
            "window.truncate",
            "Cuts long tool results that are no longer among the last messages",
        ),
        StageDescriptor::filter::<split::SplitConfig>(
            "window.split",
            "Keeps the end of the conversation that fits a share of the window; a summary replaces the rest",
        ),
    ],
    presets: foldback_core::presets!["window", "window-faithful"],
};

foldback_core::inventory::submit! { REGISTRATION }
