//! `foldback compare`, as far as it is the command and not the laboratory.

use crate::common::{Recording, foldback, line};

/// Where there is nothing to fold with, there is nothing to tell of sessions in which nothing was folded.
#[test]
fn a_strategy_without_stages_is_not_called_idle() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bare.toml");
    std::fs::write(&file, "name = \"bare\"\n[estimator]\nuse = \"chars\"\n").unwrap();
    let file = file.to_str().unwrap();
    let ran = |preset: &str| {
        let ran = foldback(&[
            "compare",
            "tests/four-sessions",
            "--preset",
            preset,
            "--show",
            "full",
            "--store=none",
        ])
        .done();
        ran.stdout.contains("\nIdle\n")
    };
    assert!(!ran(file));
    assert!(ran("tiered"));
}

/// Bills by rules of a cache that recorders did not ask for are not taken for theirs.
#[test]
fn a_cache_of_one_hour_that_is_billed_as_a_shorter_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = Recording::of_reads(5_000).write(folder.path(), "hour.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let cases = [
        ("ephemeral_1h_input_tokens", "anthropic-5m", true),
        ("ephemeral_5m_input_tokens", "anthropic-5m", false),
        ("ephemeral_1h_input_tokens", "anthropic-1h", false),
        ("ephemeral_1h_input_tokens", "own", false),
        // Its models have no such cache.
        ("ephemeral_1h_input_tokens", "openai", false),
    ];
    for (asked, prices, told) in cases {
        let written = format!(
            r#""cache_creation_input_tokens":4000,"cache_creation":{{"{asked}":4000}},"input_tokens""#
        );
        std::fs::write(&path, text.replace(r#""input_tokens""#, &written)).unwrap();
        let compare =
            format!("compare {path} --preset window --show full --store=none --prices {prices}");
        let report = line(&compare).done().stdout;
        let says = report.contains("1 of 1 sessions asked for a cache that lives for an hour");
        assert_eq!(says, told, "{asked}, {prices}: {report}");
    }
}

/// Worktrees and machines of one repository are one cluster; folders that only end alike in a name that says nothing are not.
#[test]
fn sessions_of_one_repository_are_one_cluster() {
    let table: [(&[&str], u64); 3] = [
        (&["/Users/a/kit/.worktrees/x", "/Users/a/kit/.claude/worktrees/y", "/home/b/code/kit"], 1),
        (&["/Users/a/shop/src", "/home/b/bank/src"], 2),
        (&["/Users/a/one", "/Users/a/two"], 2),
    ];
    for (folders, expected) in table {
        let dir = tempfile::tempdir().unwrap();
        for (at, folder) in folders.iter().enumerate() {
            let user = serde_json::json!({
                "type": "user", "uuid": "1", "sessionId": at.to_string(), "cwd": folder,
                "message": {"role": "user", "content": "hello"},
            });
            let answer = serde_json::json!({
                "type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": at.to_string(), "cwd": folder,
                "message": {"id": "m", "role": "assistant", "model": "claude-opus-4-6",
                    "content": [{"type": "text", "text": "hello"}],
                    "usage": {"input_tokens": 1_000, "output_tokens": 5}},
            });
            crate::common::write(dir.path(), &format!("{at}.jsonl"), format!("{user}\n{answer}\n"));
        }
        let path = dir.path().to_str().unwrap();
        let args = ["compare", path, "--preset", "window", "--store=none", "--json", "-"];
        let found: serde_json::Value =
            serde_json::from_str(&foldback(&args).done().stdout).unwrap();
        assert_eq!(found["corpus"]["clusters"], expected, "{folders:?}");
        assert_eq!(found["corpus"]["imported"], folders.len(), "{folders:?}");
    }
}
