//! `foldback rereads` on a session whose answer is known, and on requests that can't be met.

use crate::common::foldback;
use serde_json::{Value, json};
use std::path::Path;

/// Lines of a Claude Code session, one call after the other.
struct Recording {
    lines: Vec<Value>,
    calls: u32,
}

impl Recording {
    fn new() -> Self {
        let mut recording = Self { lines: Vec::new(), calls: 0 };
        recording.user("fix the parser", false);
        recording
    }

    fn line(&mut self, mut line: Value) {
        let number = self.lines.len();
        line["uuid"] = json!(format!("line-{number}"));
        line["sessionId"] = json!("planted");
        line["timestamp"] = json!(format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60));
        if line["parentUuid"].is_null() && number > 0 && line["subtype"].is_null() {
            line["parentUuid"] = json!(format!("line-{}", number - 1));
        }
        self.lines.push(line);
    }

    fn user(&mut self, text: &str, summary: bool) {
        let mut line = json!({"type": "user", "message": {"role": "user", "content": text}});
        if summary {
            line["isCompactSummary"] = json!(true);
        }
        self.line(line);
    }

    fn call(&mut self, tool: &str, input: &Value, result: &str) {
        let id = format!("toolu_{}", self.calls);
        self.line(json!({"type": "assistant", "message": {
            "id": format!("msg_{}", self.calls), "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}],
            "usage": {"input_tokens": 1_000 + 10 * self.calls, "output_tokens": 5}}}));
        self.line(json!({"type": "user", "message": {"role": "user", "content":
            [{"type": "tool_result", "tool_use_id": id, "content": result}]}}));
        self.calls += 1;
    }

    fn compaction(&mut self, summary: &str) {
        self.line(json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null,
            "content": "Conversation compacted",
            "compactMetadata": {"trigger": "auto", "preTokens": 5_000}}));
        self.user(summary, true);
    }

    fn write(&self, folder: &Path, name: &str) -> String {
        let lines: Vec<String> = self.lines.iter().map(Value::to_string).collect();
        let path = folder.join(name);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Two files and a test run are dropped: one file is read again before it is edited, the error is used
/// without looking, the other file is in the summary.
fn planted() -> Recording {
    let read = |path: &str| json!({ "file_path": path });
    let mut recording = Recording::new();
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
    let mut plain = Recording::new();
    for number in 0..24 {
        plain.call("Bash", &json!({"command": format!("make step-{}", number % 16)}), "fine");
    }
    plain.write(folder.path(), "undisturbed.jsonl");
    let path = folder.path().to_str().unwrap();
    let ran = foldback(&["rereads", path, "--within", "5"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
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
    let mut recording = Recording::new();
    recording.call("Bash", &json!({"command": "make"}), "fine");
    let path = recording.write(folder.path(), "short.jsonl");
    let ran = foldback(&["rereads", &path]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("No session here has a recorded compaction"), "{}", ran.stdout);
}

#[test]
fn requests_that_cannot_be_met_end_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let good = planted().write(folder.path(), "good.jsonl");
    let empty = folder.path().join("empty.jsonl");
    std::fs::write(&empty, " \n").unwrap();
    let empty = empty.to_str().unwrap();
    let cases: [(&str, &[&str], &str); 5] = [
        ("nothing named", &["rereads"], "name session files or folders"),
        ("a missing file", &["rereads", "no/such.jsonl"], "no such file or folder"),
        ("an empty file", &["rereads", empty], "the file is empty"),
        ("another horizon", &["rereads", &good, "--within", "7"], "one of 5, 10, 20, end"),
        (
            "an unknown estimator",
            &["rereads", &good, "--measure", "o2"],
            "no estimator is called `o2`",
        ),
    ];
    for (what, args, expected) in cases {
        let ran = foldback(args);
        assert_eq!(ran.code, 2, "{what}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.is_empty(), "{what}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{what}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("error:").count(), 1, "{what}: {}", ran.stderr);
    }
}
