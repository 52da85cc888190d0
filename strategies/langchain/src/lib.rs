#![doc = include_str!("../README.md")]

mod approximate;
mod clip;
mod summary;

pub use approximate::{Approximate, ApproximateConfig};
pub use clip::{Clip, ClipConfig};
pub use summary::{Recent, RecentConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::estimator::<ApproximateConfig>(
            "langchain.approximate",
            "LangChain's approximate count: characters by message, calls as Python prints them",
        ),
        StageDescriptor::pruner::<ClipConfig>(
            "langchain.clip-arguments",
            "From a size of the request on, cuts long arguments of old calls",
        ),
        StageDescriptor::filter::<RecentConfig>(
            "langchain.summary",
            "Keeps the newest messages; a summary of the end of the others replaces them",
        ),
    ],
    presets: foldback_core::presets![
        "deepagents",
        "langchain-context-editing",
        "langchain-summarization",
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
