//! The presets keep the laws of every strategy, decide as the rows say, and act where Claude Code did in recorded sessions.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod oracle;
mod recorded;
mod rows;

use foldback_testkit::{Subject, laws, talk};

laws!(claude_code: Subject::toml(small("claude-code")).windows(SMALL));
laws!(claude_code_2_1_17: Subject::toml(small("claude-code-2.1.17")).windows(SMALL));
laws!(claude_code_2_1_332: Subject::toml(small("claude-code-2.1.332")).windows(SMALL));
laws!(anthropic_compact: Subject::toml(sealed()).windows(SMALL));

/// The compaction of the API at such a size.
fn sealed() -> String {
    let policy = "[overflow]\nuse = \"answer-usage\"\nlimit = 4_000\n";
    let summary = "[summarizer]\nuse = \"sealed\"\ntokens = 200\non_failure = \"keep\"\n";
    format!("name = \"here\"\nextends = \"anthropic-compact\"\n{policy}{summary}")
}

/// Windows that a few messages fill.
const SMALL: [(u64, u64); 2] = [(6_000, 0), (9_000, 0)];

/// A preset with what it keeps free cut down to such windows.
fn small(preset: &str) -> String {
    let policy = "[overflow]\nuse = \"answer-usage\"\nreserve = 1_000\n";
    let pruner = "[[pruner]]\nuse = \"claude-code.microcompact\"\nreserve = 3_000\nprotect_tokens = 800\nminimum_tokens = 400\n";
    let pruner = if preset == "claude-code-2.1.17" { pruner } else { "" };
    format!("name = \"here\"\nextends = \"{preset}\"\n{policy}{pruner}")
}

/// The stages and presets of this crate and the common ones.
fn registry() -> foldback_core::registry::Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_claude_code::REGISTRATION])
}
