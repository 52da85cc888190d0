//! `foldback explain` on the sessions that come with the project.

use crate::common::{foldback, refused, write};

const SESSION: &str = "examples/sessions/price-lists-codex.jsonl";

#[test]
fn firings_and_the_worst_that_was_forgotten() {
    let ran = foldback(&["explain", SESSION, "--preset", "opencode", "--count", "4"]).done();
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn several_presets_come_one_after_the_other() {
    let ran = foldback(&["explain", SESSION, "--preset", "none,tunacode-local"]).done();
    let at = |text: &str| {
        let found = ran.stdout.find(text);
        found.unwrap_or_else(|| panic!("no {text:?} in\n{}", ran.stdout))
    };
    assert!(at("under none\n") < at("it has no stage that folds"));
    assert!(at("it has no stage that folds") < at("under tunacode-local\n"));
    assert!(at("under tunacode-local\n") < at("tunacode.placeholder"));
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_preset_that_did_nothing_says_why() {
    let args = ["--preset", "opencode", "--window", "1000000"];
    let ran = foldback(&[&["explain", SESSION], args.as_slice()].concat()).done();
    for text in [
        "Nothing fired:",
        "answer-usage: ",
        " <= ",
        "Forgotten: calls needed 35 old texts of edits and 93 pieces",
    ] {
        assert!(ran.stdout.contains(text), "{}\nlacks {text:?}", ran.stdout);
    }
}

/// Without a preset, the cheapest that keeps enough is explained.
#[test]
fn a_preset_is_chosen_where_none_is_named() {
    let ran = foldback(&["explain", SESSION]).done();
    assert!(ran.stdout.starts_with(&format!("{SESSION} under indexed-large\n")), "{}", ran.stdout);
    let named = foldback(&["explain", SESSION, "--preset", "indexed-large"]).done();
    assert!(ran.stdout == named.stdout);
}

#[test]
fn bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let simulation = |id: &str| {
        serde_json::json!({"id": id, "task_id": "t", "trial": 0, "seed": 1, "messages": [
            {"role": "user", "content": "hello", "turn_idx": 0},
            {"role": "assistant", "content": "hi", "turn_idx": 1},
        ]})
    };
    let two = serde_json::json!({
        "timestamp": "2026-01-01", "info": {}, "tasks": [],
        "simulations": [simulation("one"), simulation("two")],
    });
    let two = write(folder.path(), "two.json", two.to_string());
    refused("explain", &[("session", SESSION.to_owned()), ("two", two)]);
}
