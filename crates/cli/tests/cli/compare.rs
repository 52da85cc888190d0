//! `foldback compare`, as far as it is the command and not the laboratory.

use crate::common::foldback;

/// Where there is nothing to fold with, there is nothing to tell of sessions in which nothing was folded.
#[test]
fn a_strategy_without_stages_is_not_called_idle() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bare.toml");
    std::fs::write(&file, "name = \"bare\"\n[estimator]\nuse = \"chars\"\n").unwrap();
    let file = file.to_str().unwrap();
    let ran = |preset: &str| {
        let ran =
            foldback(&["compare", "examples/sessions", "--preset", preset, "--full", "--no-store"])
                .done();
        ran.stdout.contains("\nIdle\n")
    };
    assert!(!ran(file));
    assert!(ran("tiered"));
}
