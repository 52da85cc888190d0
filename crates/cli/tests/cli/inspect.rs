//! `foldback inspect`: one file in full, folders as a list, both as JSON.

use crate::common::{foldback, line, run};
use serde_json::Value;

#[test]
fn a_folder_is_listed() {
    let listed = line("inspect examples/sessions").done().stdout;
    for text in
        ["journal-opencode.json ", "4 sessions with 301 calls", "all are in examples/sessions/"]
    {
        assert!(listed.contains(text), "{listed}\nlacks {text:?}");
    }
    assert!(!listed.contains("examples/sessions/journal"), "{listed}");
    let narrow = run(&["inspect", "examples/sessions"], "", &[("COLUMNS", "60")]).done().stdout;
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("no room for: "), "{narrow}");
    // One file is told in full, and nothing of it is broken in a pipe.
    let one = line("inspect examples/sessions/price-lists-codex.jsonl").done().stdout;
    assert!(one.contains("recorded for 81 calls; 2,388,814 input tokens in all, 43,801 at most\n"));
}

#[test]
fn what_is_found_is_json_too() {
    let ran = line("inspect examples/sessions --json -").done();
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sessions = found["sessions"].as_array().unwrap();
    assert_eq!((sessions.len(), &found["files"]), (4, &Value::from(4)));
    for session in sessions {
        let kinds = session["tokens_by_kind"].as_object().unwrap().values();
        let sum: u64 = kinds.map(|tokens| tokens.as_u64().unwrap()).sum();
        assert_eq!(session["tokens"].as_u64(), Some(sum), "{session}");
        let path = session["path"].as_str().unwrap();
        let one = foldback(&["inspect", path, "--json", "-"]).done();
        let one: Value = serde_json::from_str(&one.stdout).unwrap();
        assert_eq!(one["sessions"][0], *session);
    }
}

#[test]
fn what_holds_no_session_is_an_error() {
    for (args, says) in [
        ("inspect docs", "no session to look at"),
        ("inspect examples/sessions --from codex", "--from is the format of one file"),
        ("inspect", "no session given"),
    ] {
        let ran = line(args);
        assert_eq!(ran.code, 2, "{args}: {}", ran.stdout);
        assert!(ran.stderr.contains(says), "{args}: {}", ran.stderr);
    }
}
