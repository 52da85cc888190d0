//! Whatever the history: the presets keep every law.

use foldback_testkit::{Subject, laws};

laws!(tunacode: low("tunacode"));
laws!(tunacode_local: "tunacode-local");

/// A preset with thresholds that short sessions reach.
fn low(preset: &str) -> Subject {
    let low = "[[pruner]]\nuse = \"tunacode.placeholder\"\nprotect_tokens = 2_000\nminimum_tokens = 500\n";
    Subject::toml(format!("name = \"low\"\nextends = \"{preset}\"\n{low}"))
}
