#![doc = include_str!("../README.md")]

mod approximate;

pub use approximate::{Approximate, ApproximateConfig};

use foldback_core::registry::{PresetDescriptor, Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::estimator::<ApproximateConfig>(
        "langchain.approximate",
        "LangChain's approximate count: characters by message, calls as Python prints them",
    )],
    presets: &[PresetDescriptor {
        name: "langchain-context-editing",
        toml: include_str!("../presets/langchain-context-editing.toml"),
    }],
};

foldback_core::inventory::submit! { REGISTRATION }
