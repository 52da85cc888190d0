//! The presets keep the laws of every strategy, and do what the rows say that the condenser of the OpenHands SDK does.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod hermes_rows;
mod rows;

use foldback_testkit::{Subject, laws, talk};

laws!(openhands: Subject::toml("name = \"here\"\nextends = \"openhands\"").windows(SMALL));
laws!(openhands_80: Subject::toml(few(20, 4, "openhands-80")).windows(SMALL));
laws!(hermes: Subject::toml("name = \"here\"\nextends = \"hermes\"").windows(SMALL));
laws!(few_events: Subject::toml(few(8, 0, "openhands")).windows(SMALL));

/// Windows that a few messages fill.
const SMALL: [(u64, u64); 3] = [(4_000, 0), (9_000, 0), (60_000, 0)];

/// A limit that short sessions reach.
fn few(size: u64, first: u64, preset: &str) -> String {
    format!(
        "name = \"few\"\nextends = \"{preset}\"\n[overflow]\nmax_size = {size}\n[filter]\nmax_size = {size}\nkeep_first = {first}\n"
    )
}

/// The stages and presets of this crate and the common ones.
fn registry() -> foldback_core::registry::Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_openhands::REGISTRATION])
}
