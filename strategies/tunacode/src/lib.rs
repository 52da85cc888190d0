//! tunacode's placeholder mode: when a user turn starts, old tool returns are replaced by a placeholder.
//!
//! Reproduces tunacode-cli 0.1.40 (commit 41ae26a, January 2026). [`walk`] is the algorithm over plain
//! numbers, [`Placeholder`] the stage around it, [`foldback_stages::python`] the rendering that the original measures
//! content by when it is not a string.

mod placeholder;
pub mod walk;

pub use placeholder::{
    DEFAULT_PLACEHOLDER, Placeholder, PlaceholderConfig, count_user_turns, return_of,
};

use foldback_core::registry::{PresetDescriptor, Registration, StageDescriptor};

/// The stage and the presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::pruner::<PlaceholderConfig>(
        "tunacode.placeholder",
        "Replaces tool returns older than a protected amount by a placeholder",
    )],
    presets: &[
        PresetDescriptor { name: "tunacode", toml: include_str!("../presets/tunacode.toml") },
        PresetDescriptor {
            name: "tunacode-local",
            toml: include_str!("../presets/tunacode-local.toml"),
        },
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
