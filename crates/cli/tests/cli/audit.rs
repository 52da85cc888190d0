//! `foldback audit`: every compaction that a recorder made has its row, in every output.

use crate::common::{foldback, line, root, run};
use foldback_test_support::sessions;
use serde_json::Value;
use std::process::Command;

const FIXTURE: &str = "crates/formats/fixtures/claude-code/compaction.jsonl";

#[test]
fn a_compaction_is_told_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (json, csv, lines, html) = (path("a.json"), path("a.csv"), path("a.jsonl"), path("a.html"));
    let args = [
        "audit",
        FIXTURE,
        "tests/four-sessions",
        "--show",
        "full",
        "--json",
        &json,
        "--html",
        &html,
    ];
    let screen =
        run(&[&args[..], &["--rows", &csv]].concat(), "", &[("COLUMNS", "80")]).done().stdout;
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    for text in [
        "What your agents' own compactions did",
        "what others would have done there",
        "Your 4 compactions cost $",
        "1.1 before call",
        "3 sessions without a compaction",
        "no other autoCompactWindow that was tried",
    ] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let told: Value = serde_json::from_str(&read(&json)).unwrap();
    let all = told["sessions"].as_array().unwrap();
    let of_all: Vec<usize> =
        all.iter().map(|it| it["compactions"].as_array().unwrap().len()).collect();
    assert_eq!(of_all, [2, 0, 2, 0, 0]);
    let folds = all[0]["compactions"][0]["folds"].as_array().unwrap();
    let by: Vec<&str> = folds.iter().map(|fold| fold["by"].as_str().unwrap()).collect();
    assert_eq!(by, ["as-recorded", "indexed", "claude-code+extractive"]);
    // A row each, of the same columns.
    let table = read(&csv);
    let columns = |row: &str| row.split(',').count();
    assert_eq!(table.lines().count(), 1 + 4 * folds.len(), "{table}");
    let names = columns(table.lines().next().unwrap());
    foldback(&["audit", FIXTURE, "--rows", &lines]).done();
    for row in read(&lines).lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        assert_eq!(row.as_object().unwrap().len(), names, "{row}");
        assert!(row["missing_names"].is_u64() && row["cost_summary_usd"].is_number(), "{row}");
    }
    let page = read(&html);
    let verdict = told["sentence"].as_str().unwrap().split(". ").next().unwrap();
    assert!(page.contains("id=\"walk-0\"") && page.contains(verdict), "{page}");
    let thresholds = told["thresholds"].as_array().unwrap();
    let of: Vec<&str> = thresholds.iter().map(|it| it["agent"].as_str().unwrap()).collect();
    assert_eq!(of, ["claude-code", "codex"]);
}

#[test]
fn what_never_compacted_is_told_how_far_it_was() {
    let screen = line("audit tests/four-sessions/journal-opencode.json").done().stdout;
    assert!(screen.contains("150,686 tokens, 75.3% of its window of 200,000"), "{screen}");
    assert!(screen.ends_with("No compaction is recorded in these sessions.\n"), "{screen}");
}

/// Over all recordings: as many rows as marks, and the dollars of `sessions`.
#[foldback_needs::sessions]
#[test]
fn every_recorded_compaction_has_its_row() {
    let folders = [sessions(), sessions().join("../training")];
    let folders = folders.each_ref().map(|folder| folder.to_str().unwrap());
    let json = |command: &str| {
        let ran = foldback(&[&[command, "--json", "-"][..], &folders].concat()).done();
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["sessions"].take()
    };
    let (told, listed) = (json("audit"), json("inspect"));
    let mut compactions = 0;
    for one in listed.as_array().unwrap() {
        let marks = one["boundaries"].as_array().unwrap();
        let mut same = told.as_array().unwrap().iter().filter(|it| it["path"] == one["path"]);
        let Some(audited) = same.next() else {
            assert!(marks.is_empty(), "{}", one["path"]);
            continue;
        };
        let rows = audited["compactions"].as_array().unwrap();
        assert_eq!(rows.len(), marks.len(), "{}", one["path"]);
        for (row, mark) in rows.iter().zip(marks) {
            assert_eq!(row["trigger"], mark["trigger"], "{}", one["path"]);
            assert_eq!(row["folds"][0]["folded"], mark["original_kept"], "{}", one["path"]);
        }
        assert_eq!(audited["usd"], one["usd"], "{}", one["path"]);
        compactions += rows.len();
    }
    assert!(compactions >= 33, "{compactions}");
}

/// What was dropped and needed is what the judge finds at the same cuts, of a summary, a cleared result, a tail that stayed and a
/// sealed summary.
#[foldback_needs::sessions]
#[foldback_needs::judge]
#[test]
fn an_outside_judge_misses_the_same() {
    let files = [
        "claude-code/packmind-1compact.jsonl",
        "opencode/nimbus-82msg-pruned.json",
        "pi/session-1compaction-badline.jsonl",
        "codex/agentv-spark-2compact-121k-window.jsonl",
    ];
    let files = files.map(|file| sessions().join(file));
    let mut python = Command::new("python3");
    python.args(["-B", "tests/evidence/audit.py", env!("CARGO_BIN_EXE_foldback")]).args(files);
    let output = python.current_dir(root()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}
