//! `foldback rereads` on a session whose answer is known, and on requests that can't be met.

use crate::common::{Recording, foldback, refused, write};
use serde_json::{Value, json};

/// Two files and a test run are dropped: one file is read again before it is edited, the error is used
/// without looking, the other file is in the summary.
fn planted() -> Recording {
    let read = |path: &str| json!({ "file_path": path });
    let mut recording = Recording::new("planted", 1_000, 10);
    recording.user("fix the parser");
    recording.call("Read", &read("/w/src/a.rs"), "fn alpha_one() {}");
    recording.call("Read", &read("/w/src/b.rs"), "fn beta_two() {}");
    recording.call("Bash", &json!({"command": "cargo test"}), "error[E0425]: no alpha");
    recording.compaction("beta_two is done");
    recording.call("Bash", &json!({"command": "cat /w/src/a.rs"}), "fn alpha_one() {}");
    let edit =
        json!({"file_path": "/w/src/new.rs", "old_string": "fn alpha_one() {}", "new_string": ""});
    recording.call("Edit", &edit, "ok");
    recording.call("Grep", &json!({"pattern": "beta_two"}), "nothing");
    recording.call("Bash", &json!({"command": "rustc --explain E0425"}), "text");
    recording.call("Bash", &json!({"command": "cargo build"}), "fine");
    recording
}

#[test]
fn what_was_planted_is_found() {
    let folder = tempfile::tempdir().unwrap();
    planted().write(folder.path(), "planted.jsonl");
    let mut plain = Recording::new("planted", 1_000, 10);
    plain.user("fix the parser");
    for number in 0..24 {
        plain.call("Bash", &json!({"command": format!("make step-{}", number % 16)}), "fine");
    }
    plain.write(folder.path(), "undisturbed.jsonl");
    let path = folder.path().to_str().unwrap();
    let ran = foldback(&["rereads", path, "--within", "5"]).done();
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    insta::assert_snapshot!(ran.stdout);

    let ran = foldback(&["rereads", path, "--json", "-"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let last = &report["pooled"]["horizons"][3];
    assert_eq!(last["within"], Value::Null);
    let counts = |rate: &Value| (rate["hits"].clone(), rate["n"].clone());
    assert_eq!(counts(&last["reread"]), (json!(1), json!(3)));
    assert_eq!(counts(&last["converted"]), (json!(1), json!(2)));
    assert_eq!(report["conversion"][3]["raw"]["factor"], json!(0.5));
    assert_eq!(report["sessions"][0]["policy"]["marked"], json!(1));
}

#[test]
fn a_corpus_without_a_compaction_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = Recording::new("planted", 1_000, 10);
    recording.user("fix the parser");
    recording.call("Bash", &json!({"command": "make"}), "fine");
    let path = recording.write(folder.path(), "short.jsonl");
    let ran = foldback(&["rereads", &path]).done();
    assert!(ran.stdout.contains("No session here has a recorded compaction"), "{}", ran.stdout);
}

#[test]
fn requests_that_cannot_be_met_end_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let good = planted().write(folder.path(), "good.jsonl");
    let empty = write(folder.path(), "empty.jsonl", " \n");
    refused("rereads", &[("good", good), ("empty", empty)]);
}
