//! `foldback compact`: where nothing is done, that is said, and the session stays as it is.

use crate::common::{foldback, root};

/// One of them has compactions of the recorder's own.
const SESSIONS: [&str; 4] = [
    "journal-opencode.json",
    "price-lists-codex.jsonl",
    "refunds-pydantic-ai.json",
    "reservations-claude-code.jsonl",
];

#[test]
fn where_nothing_is_done_every_byte_stays() {
    for name in SESSIONS {
        let path = root().join("examples/sessions").join(name);
        let before = std::fs::read_to_string(&path).unwrap();
        for live in [&["--live"][..], &[]] {
            let args = [&["compact", path.to_str().unwrap(), "--preset", "none"], live].concat();
            let ran = foldback(&args).done();
            assert!(ran.stdout == before, "{name} {live:?}: {}", ran.stderr);
            assert!(ran.stderr.starts_with("nothing was done: "), "{name}: {}", ran.stderr);
            assert_eq!(ran.stderr.lines().count(), 1, "{name}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_plan_of_nothing_is_a_sentence() {
    let session = "examples/sessions/refunds-pydantic-ai.json";
    for args in
        [&["none", "--live"][..], &["opencode-1.17", "--live", "--window", "900000"], &["none"]]
    {
        let args = [&["compact", session, "--plan", "--preset"], args].concat();
        let ran = foldback(&args).done();
        assert!(
            ran.stdout.starts_with("nothing was done: no stage of "),
            "{args:?}: {}",
            ran.stdout
        );
        assert_eq!(ran.stdout.lines().count(), 1, "{args:?}: {}", ran.stdout);
    }
}

/// What a format can't hold is told in words that hold for each of its lines.
#[test]
fn what_is_not_as_it_was_is_told() {
    let session = "examples/sessions/price-lists-codex.jsonl";
    let ran = foldback(&["compact", session, "--preset", "window", "--live", "--window", "24000"]);
    let told = "note: differs from the codex file: ";
    assert!(ran.done().stderr.contains(told), "no {told}");
}
