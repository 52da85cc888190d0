//! Whatever was said: the presets keep every law.

use foldback_testkit::{Subject, laws};

use foldback_indexed as _;

laws!(indexed: "indexed");
laws!(indexed_large: Subject::preset("indexed-large"));
laws!(break_even: Subject::toml(priced()));

/// The policy `break-even` at prices of its own: these sessions have no model.
fn priced() -> String {
    format!("{}read = 0.1\nwrite = 1.25\n", include_str!("../break-even.toml"))
}
