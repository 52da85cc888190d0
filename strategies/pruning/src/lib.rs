#![doc = include_str!("../README.md")]

use foldback_core::registry::Registration;

/// The presets of this crate. Their stages belong to no system: they are in `foldback-stages`.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[],
    presets: foldback_core::presets![
        "anthropic-clear-tool-uses",
        "fast-jev",
        "masking-10",
        "swe-agent-last-5",
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
