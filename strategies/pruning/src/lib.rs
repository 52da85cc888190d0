//! Presets without a model: old tool results become a placeholder, or old calls go with their results.
//!
//! | preset | reproduces | by the common stage |
//! |---|---|---|
//! | `swe-agent-last-5`, `masking-10` | the processor of SWE-agent 1.1.0, and the baseline of The Complexity Trap | `keep-last` |
//! | `anthropic-clear-tool-uses` | Anthropic's context editing | `clear-tool-uses` |
//! | `fast-jev` | a plugin for Claude Code | `drop-pairs` |
//!
//! The crate has no stage of its own. Its README is the page of the presets.

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
