#![doc = include_str!("../README.md")]

use foldback_core::registry::{PresetDescriptor, Registration};

/// The presets of this crate. Their stages belong to no system: they are in `foldback-stages`.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[],
    presets: &[
        PresetDescriptor {
            name: "anthropic-clear-tool-uses",
            toml: include_str!("../presets/anthropic-clear-tool-uses.toml"),
        },
        PresetDescriptor { name: "drop-pairs", toml: include_str!("../presets/drop-pairs.toml") },
        PresetDescriptor { name: "fast-jev", toml: include_str!("../presets/fast-jev.toml") },
        PresetDescriptor { name: "masking-10", toml: include_str!("../presets/masking-10.toml") },
        PresetDescriptor {
            name: "swe-agent-last-5",
            toml: include_str!("../presets/swe-agent-last-5.toml"),
        },
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
