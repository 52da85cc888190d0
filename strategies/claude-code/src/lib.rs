//! The compaction of Claude Code, as its recordings show it: near the end of the window one summary stands for everything, in
//! later versions for all before the newest answer, and early versions clear old tool results before that.
//!
//! | stage | what it does |
//! |---|---|
//! | `claude-code.microcompact` | from a limit on, clears the oldest tool results beyond the newest 40,000 tokens |
//! | `claude-code.summary` | puts one summary in the place of everything, or of all before the newest answer |
//!
//! | preset | reproduces |
//! |---|---|
//! | `claude-code` | 2.1.25 to 2.1.45 |
//! | `claude-code-2.1.17` | 2.0.76 to 2.1.20 |
//! | `claude-code-2.1.332` | 2.1.332 |
//! | `anthropic-compact` | the compaction of Anthropic's API, with the same filter |
//!
//! The program is closed source. The rules were found in files that it recorded, and the README of this crate says how often they hit.
//! The policy is the common stage `answer-usage`.

mod microcompact;
mod summary;

pub use microcompact::{Microcompact, MicrocompactConfig};
pub use summary::{Everything, EverythingConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::pruner::<MicrocompactConfig>(
            "claude-code.microcompact",
            "From a limit on, clears the oldest tool results beyond a protected amount",
        ),
        StageDescriptor::filter::<EverythingConfig>(
            "claude-code.summary",
            "One summary stands for everything, or for all before the newest answer",
        ),
    ],
    presets: foldback_core::presets![
        "anthropic-compact",
        "claude-code",
        "claude-code-2.1.17",
        "claude-code-2.1.332"
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
