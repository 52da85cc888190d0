//! tunacode's placeholder mode: when a user turn starts, old tool returns are replaced by a placeholder. And the controller that took
//! its place three weeks later: a summary of everything before a safe boundary.
//!
//! | stage | what it does |
//! |---|---|
//! | `tunacode.placeholder` | replaces tool returns older than a protected amount ([`walk`]) |
//! | `tunacode.summary` | puts a summary in front of a safe boundary ([`boundary`]) |
//!
//! | preset | reproduces |
//! |---|---|
//! | `tunacode`, `tunacode-local` | tunacode-cli 0.1.40 (commit 41ae26a, January 2026), standard and local mode |
//! | `tunacode-2026-02` | tunacode-cli 0.1.78 (February 2026) |
//! | `tunacode-0.2` | tunacode-cli 0.2.3, with another estimator |
//!
//! Content that is no string is measured as Python prints it ([`foldback_stages::python`]). The policy is the common stage
//! `answer-usage`. The README of this crate is the page of the presets.

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
