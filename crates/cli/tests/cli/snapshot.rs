//! `foldback snapshot`: files for review, and what a check of them says.

use crate::common::{Ran, foldback, root};
use std::path::Path;

const SESSIONS: [&str; 2] = ["refunds-pydantic-ai", "reservations-claude-code"];

/// Snapshots of two sessions that ship, in a window that makes the preset act.
fn snapshot(folder: &Path, more: &[&str]) -> Ran {
    let sessions = ["refunds-pydantic-ai.json", "reservations-claude-code.jsonl"];
    let paths = sessions.map(|name| root().join("examples/sessions").join(name));
    let folder = folder.to_str().unwrap();
    let mut args = vec!["snapshot"];
    args.extend(paths.iter().map(|path| path.to_str().unwrap()));
    args.extend(["--preset", "tunacode-local,window", "--window", "24000", "-o", folder]);
    foldback(&[&args, more].concat())
}

#[test]
fn snapshots_are_written_checked_and_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("snapshots");

    let missing = snapshot(&folder, &[]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("there is no snapshot yet"), "{}", missing.stderr);
    assert!(missing.stderr.contains("--write"), "{}", missing.stderr);
    assert!(!folder.exists(), "a check writes nothing");

    let written = snapshot(&folder, &["--write"]).done();
    assert_eq!(written.stdout, "4 snapshots: 4 written, 0 as they were\n");
    assert_eq!(snapshot(&folder, &[]).done().stdout, "4 snapshots hold\n");
    let again = snapshot(&folder, &["--write"]).done();
    assert_eq!(again.stdout, "4 snapshots: 0 written, 4 as they were\n");

    let file =
        |session: &str, preset: &str| folder.join(format!("{session}.{preset}.snapshot.txt"));
    for session in SESSIONS {
        let text = std::fs::read_to_string(file(session, "window")).unwrap();
        assert!(text.starts_with(&format!("# window+extractive · {session}\n")), "{text}");
    }

    // What another system's Git makes of line ends is no change.
    let first = file(SESSIONS[0], "tunacode-local");
    let kept = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, kept.replace('\n', "\r\n")).unwrap();
    assert_eq!(snapshot(&folder, &[]).done().stdout, "4 snapshots hold\n");

    std::fs::write(&first, kept.replace("## View", "## What is sent")).unwrap();
    let differs = snapshot(&folder, &[]);
    assert_eq!(differs.code, 1, "{}", differs.stderr);
    assert!(differs.stdout.contains("\n-## What is sent\n+## View\n"), "{}", differs.stdout);
    assert!(
        differs.stderr.contains("1 of 4 snapshots are not what was kept"),
        "{}",
        differs.stderr
    );

    std::fs::remove_file(file(SESSIONS[1], "window")).unwrap();
    let both = snapshot(&folder, &[]);
    assert_eq!(both.code, 2, "{}", both.stderr);
    assert!(both.stdout.contains("+## View"), "{}", both.stdout);
    assert!(
        both.stderr.contains("reservations-claude-code.window.snapshot.txt"),
        "{}",
        both.stderr
    );
}

#[test]
fn a_snapshot_reads_like_this() {
    let folder = tempfile::tempdir().unwrap();
    let session = "examples/sessions/refunds-pydantic-ai.json";
    let out = folder.path().to_str().unwrap();
    let preset = ["--preset", "opencode-1.17", "--window", "24000", "--max-output", "4000"];
    foldback(&[&["snapshot", session, "--write", "-o", out], &preset[..]].concat()).done();
    let file = folder.path().join("refunds-pydantic-ai.opencode-1.17.snapshot.txt");
    insta::assert_snapshot!(std::fs::read_to_string(file).unwrap());
}

#[test]
fn two_sessions_of_one_name_are_not_mixed_up() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("refunds-pydantic-ai.json");
    let session = root().join("examples/sessions/refunds-pydantic-ai.json");
    std::fs::copy(&session, &copy).unwrap();
    let out = folder.path().join("out");
    let paths = [&session, &copy, &out].map(|path| path.to_str().unwrap());
    let [session, copy, out] = paths;
    let ran = foldback(&["snapshot", session, copy, "--preset", "none", "--write", "-o", out]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("two sessions would have the snapshot"), "{}", ran.stderr);
    assert!(!Path::new(out).exists(), "nothing is written half");
}
