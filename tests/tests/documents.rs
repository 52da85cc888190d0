//! What documents show of files.

use foldback_replay::Experiment;
use foldback_tests::lab;

fn text(path: &str) -> String {
    std::fs::read_to_string(lab::root().join(path)).unwrap()
}

/// The first block of a document in some language.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_example_of_an_experiment_has_every_key() {
    let page = text("docs/experiments.md");
    let example = block(&page, "toml");
    Experiment::parse("the example", example).unwrap();
    let wrong = Experiment::parse("x", "nothing = 1\n").unwrap_err();
    let (_, keys) = wrong.split_once("expected one of ").unwrap();
    for key in keys.split(", ").map(|key| key.trim_matches('`')) {
        assert!(example.contains(&format!("\n{key} = ")), "the example has no `{key}`");
        assert!(page.contains(&format!("`{key}`")), "the table has no `{key}`");
    }
}

#[test]
fn the_page_on_stages_shows_the_files_of_the_example() {
    let page = text("docs/stages.md");
    let manifest = text("examples/custom-strategy/Cargo.toml");
    let shown = block(&page, "toml");
    assert!(manifest.contains(shown), "docs/stages.md shows another manifest:\n{shown}");
    assert_eq!(manifest.matches("path = ").count(), shown.matches("path = ").count());
    let main = text("examples/custom-strategy/src/main.rs");
    let (_, code) = main.split_once("\n\n").unwrap();
    assert_eq!(block(&page, "rust,ignore"), code);
}
