//! tunacode's placeholder mode: when a user turn starts, old tool returns are replaced by a placeholder. And the controller that took
//! its place three weeks later: a summary of everything before a safe boundary.
//!
//! The first reproduces tunacode-cli 0.1.40 (commit 41ae26a, January 2026). [`walk`] is the algorithm over plain
//! numbers, [`Placeholder`] the stage around it, [`foldback_stages::python`] the rendering that the original measures
//! content by when it is not a string. The second reproduces tunacode-cli 0.1.78 (February 2026) and, with another estimator, 0.2.3:
//! [`boundary`] over plain numbers, [`Safe`] the stage, `answer-usage` the policy.

pub mod boundary;
mod placeholder;
mod summary;
pub mod walk;

pub use placeholder::{
    DEFAULT_PLACEHOLDER, Placeholder, PlaceholderConfig, count_user_turns, return_of,
};
pub use summary::{Safe, SafeConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and the presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::pruner::<PlaceholderConfig>(
            "tunacode.placeholder",
            "Replaces tool returns older than a protected amount by a placeholder",
        ),
        StageDescriptor::filter::<SafeConfig>(
            "tunacode.summary",
            "A summary of everything before a safe boundary, in front of what stays",
        ),
    ],
    presets: foldback_core::presets![
        "tunacode",
        "tunacode-0.2",
        "tunacode-2026-02",
        "tunacode-local",
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
