//! Summaries written by a model.
//!
//! The [`llm`](summarizer) summarizer words its requests from [prompts that are data](prompt), quotes
//! the recorded conversation so that nothing in it can pass for an instruction ([`quote`]), asks the
//! [`Model`](foldback_core::provider::Model) that the services hold, checks what comes back and
//! steps down a ladder if a request is too large: whole, with cut tool outputs, in chunks, and last
//! the extractive summary. Every way through it ends: [`config::LlmConfig::max_requests`] is the most
//! requests that one summary can cost.

mod asking;
pub mod batch;
pub mod budget;
pub mod cassette;
mod check;
pub mod client;
pub mod config;
pub mod dry_run;
pub mod keys;
mod ladder;
pub mod likelihood;
mod memo;
pub mod prompt;
pub mod questions;
pub mod quote;
pub mod reporter;
mod retry;
mod room;
mod scrub;
pub mod summarizer;
pub mod watch;

use foldback_core::registry::{Registration, StageDescriptor};

pub use budget::{Bill, Budget, Prices, Purse};
pub use cassette::Cassette;
pub use client::Client;
pub use config::LlmConfig;
pub use dry_run::DryRun;
pub use foldback_core::log::Price;
pub use keys::{Key, Keys};
pub use questions::Questioner;
pub use reporter::{Reporter, RequestReport};
pub use summarizer::LlmSummarizer;
pub use watch::Watch;

/// The stages of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::summarizer::<LlmConfig>(
        "llm",
        "Summarizes with a model; falls back to smaller requests and then to the extractive summary",
    )],
    presets: &[],
};

foldback_core::inventory::submit! { REGISTRATION }
