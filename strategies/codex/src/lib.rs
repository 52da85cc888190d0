//! The compaction of OpenAI's Codex CLI: at 90 % of the window everything becomes one summary, and only what the person said stays
//! in front of it. That of Kimi Code does the same with a beginning and an end.
//!
//! | stage | what it does |
//! |---|---|
//! | `codex.truncate` | cuts the middle out of long tool results when they are recorded ([`middle`]) |
//! | `codex.users` | keeps the person's messages, newest first up to a budget; a summary of everything stands behind them |
//! | `kimi.users` | the same with a budget for the oldest messages and one for the newest |
//!
//! | preset | reproduces |
//! |---|---|
//! | `codex` | the local compaction: 20,000 tokens, a readable summary |
//! | `codex-remote` | the remote one: 64,000 tokens, an item that only the provider can read |
//! | `openai-compact` | that of the Responses API itself, which keeps nothing beside the item |
//! | `kimi-code` | that of Moonshot AI's Kimi Code |
//!
//! The policy is the common stage `answer-usage`. The README of this crate is the page of the presets.

mod kimi_users;
pub mod middle;
mod truncate;
mod users;

pub use kimi_users::{Ends, EndsConfig, GO_ON, OMITTED, PREFIX};
pub use truncate::{Truncate, TruncateConfig};
pub use users::{Users, UsersConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::pruner::<TruncateConfig>(
            "codex.truncate",
            "Cuts the middle out of long tool results when they are recorded",
        ),
        StageDescriptor::filter::<UsersConfig>(
            "codex.users",
            "Keeps what the person said up to a budget; a summary of everything stands behind it",
        ),
        StageDescriptor::filter::<EndsConfig>(
            "kimi.users",
            "Keeps the oldest and the newest of what the person said; a summary of everything stands behind it",
        ),
    ],
    presets: foldback_core::presets!["codex", "codex-remote", "kimi-code", "openai-compact"],
};

foldback_core::inventory::submit! { REGISTRATION }
