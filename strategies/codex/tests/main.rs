//! The presets keep the laws of every strategy, do what the rows say that Codex does, and keep what it kept in recorded sessions.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod kimi;
mod recorded;
mod rows;

use foldback_testkit::{Subject, laws, talk};

laws!(codex: Subject::toml(rows::keeping("codex", 500)).windows(SMALL));
laws!(codex_remote: Subject::toml(rows::keeping("codex-remote", 500)).windows(SMALL));
laws!(kimi_code: Subject::toml(kimi::keeping(500, 50)).windows(SMALL));
laws!(openai_compact: Subject::toml(sealed()).windows(SMALL));

/// The compaction of the API at such a size.
fn sealed() -> String {
    let policy = "[overflow]\nuse = \"answer-usage\"\nlimit = 4_000\n";
    let summary = "[summarizer]\nuse = \"sealed\"\ntokens = 200\non_failure = \"keep\"\n";
    format!("name = \"here\"\nextends = \"openai-compact\"\n{policy}{summary}")
}

/// Windows that a few messages fill, but not what is kept.
const SMALL: [(u64, u64); 2] = [(6_000, 0), (9_000, 0)];

/// The stages and presets of this crate and the common ones.
fn registry() -> foldback_core::registry::Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_codex::REGISTRATION])
}
