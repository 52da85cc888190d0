//! Values of presets that no row of their crate sees changed. `cargo xtask mutations` tries all others.

use foldback_core::config::{Options, compile_preset};
use foldback_test_support::table;
use serde_json::Value;

#[test]
fn are_what_their_source_says() {
    let registry = foldback::registry().unwrap();
    let rows: Vec<(String, String, Value, String)> =
        table::rows(include_str!("constants.toml"), "constants");
    let mut wrong = Vec::new();
    for (preset, path, value, source) in rows {
        let compiled = compile_preset(&registry, &preset, Options::default()).unwrap();
        let found = compiled.root.at(&path).map(foldback_core::config::Node::to_value);
        if found.as_ref() != Some(&value) || source.is_empty() {
            wrong.push(format!("{preset}: {path} is {found:?} and not {value}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
