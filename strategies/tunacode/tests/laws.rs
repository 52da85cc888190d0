//! Whatever the history: the presets keep every law.

use foldback_testkit::{Subject, laws};

laws!(tunacode: low("tunacode"));
laws!(tunacode_local: "tunacode-local");
laws!(tunacode_2026_02: Subject::preset("tunacode-2026-02").windows([(37_000, 0), (40_000, 4_000)]));
laws!(tunacode_0_2: Subject::preset("tunacode-0.2").windows([(37_000, 0), (40_000, 4_000)]));
laws!(safe: Subject::toml(SMALL).windows([(1_000, 0), (3_000, 0), (8_000, 1_000)]));

/// The controller in windows that short sessions fill.
const SMALL: &str = "name = \"small\"\nextends = \"tunacode-2026-02\"\n\
    [overflow]\nuse = \"answer-usage\"\nreserve = 600\n\
    [filter]\nuse = \"tunacode.summary\"\nkeep_recent_tokens = 400\n";

/// A preset with thresholds that short sessions reach.
fn low(preset: &str) -> Subject {
    let low = "[[pruner]]\nuse = \"tunacode.placeholder\"\nprotect_tokens = 2_000\nminimum_tokens = 500\n";
    Subject::toml(format!("name = \"low\"\nextends = \"{preset}\"\n{low}"))
}
