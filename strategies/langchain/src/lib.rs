//! The middleware of LangChain for agents: clearing of old tool results, and summaries of old messages, in two forms.
//!
//! | stage | what it does |
//! |---|---|
//! | `langchain.approximate` | counts characters by message, and calls as Python prints them |
//! | `langchain.clip-arguments` | cuts long arguments of old calls from a size of the request on |
//! | `langchain.summary` | keeps the newest messages; a summary of the end of the others replaces them |
//!
//! | preset | reproduces |
//! |---|---|
//! | `langchain-context-editing` | `ContextEditingMiddleware` of langchain 1.5.2, by the common stage `clear-tool-uses` |
//! | `langchain-summarization` | `SummarizationMiddleware` of langchain 1.5.2 |
//! | `deepagents` | the middleware of deepagents 0.7.32 |
//!
//! The policy is the common stage `answer-usage`. The README of this crate is the page of the presets.

mod approximate;
mod clip_arguments;
mod summary;

pub use approximate::{Approximate, ApproximateConfig};
pub use clip_arguments::{Clip, ClipConfig};
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
