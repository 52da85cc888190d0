#![doc = include_str!("../README.md")]

use foldback_core::registry::{PresetDescriptor, Registration};

/// The presets of this crate. Their stages belong to no system: they are in `foldback-stages`.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[],
    presets: &[
        PresetDescriptor { name: "drop-pairs", toml: include_str!("../presets/drop-pairs.toml") },
        PresetDescriptor { name: "fast-jev", toml: include_str!("../presets/fast-jev.toml") },
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
