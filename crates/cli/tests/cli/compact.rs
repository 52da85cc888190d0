//! `foldback compact`: where nothing is done, that is said, and the session stays as it is.

use crate::common::{foldback, line, root};

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
        for live in [&["--when", "live"][..], &[]] {
            let args = [&["compact", path.to_str().unwrap(), "--preset", "none"], live].concat();
            let ran = foldback(&args).done();
            assert!(ran.stdout == before, "{name} {live:?}: {}", ran.stderr);
            // One of them has a call without a result, which is said.
            let said = ran.stderr.lines().filter(|line| !line.starts_with("note: "));
            let said: Vec<&str> = said.collect();
            assert!(said[0].starts_with("nothing was done: "), "{name}: {}", ran.stderr);
            assert_eq!(said.len(), 1, "{name}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_plan_of_nothing_is_a_sentence() {
    let session = "examples/sessions/refunds-pydantic-ai.json";
    for args in [
        &["none", "--when", "live"][..],
        &["opencode-1.17", "--when", "live", "--window", "900000"],
        &["none"],
    ] {
        let args = [&["compact", session, "--show", "plan", "--preset"], args].concat();
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
    let ran = foldback(&[
        "compact", session, "--preset", "window", "--when", "live", "--window", "24000",
    ]);
    let told = "note: differs from the codex file: ";
    assert!(ran.done().stderr.contains(told), "no {told}");
}

fn case(name: &str) -> String {
    root().join("tests/cases").join(name).to_str().unwrap().to_owned()
}

/// A preset that acts after an answer has nothing to say about a stored session: the way out is named.
#[test]
fn where_a_preset_acts_after_an_answer_the_way_out_is_named() {
    let session = case("B16-compact-step-end-presets/over-window.jsonl");
    for preset in ["pi", "codex", "codex-remote"] {
        let ran = foldback(&["compact", &session, "--preset", preset]).done();
        assert!(ran.stderr.starts_with("nothing was done: "), "{preset}: {}", ran.stderr);
        for way in ["step-end", "--when live", "--when manual"] {
            assert!(ran.stderr.contains(way), "{preset}: no {way}: {}", ran.stderr);
            if way.starts_with("--") {
                let ran = line(&format!("compact {session} --preset {preset} {way} --show plan"));
                let ran = ran.done();
                assert!(!ran.stdout.starts_with("nothing"), "{preset} {way}: {}", ran.stdout);
            }
        }
    }
    let ran = foldback(&["compact", &session, "--preset", "none"]).done();
    assert!(!ran.stderr.contains("--when live"), "a preset without a policy: {}", ran.stderr);
}

/// The output of `--when live` is what a second run makes of it.
#[test]
fn a_second_live_run_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("once.json");
    let out = out.to_str().unwrap();
    let session = case("F20-window-twice/window-twice-chat-0.json");
    let limits =
        ["--when", "live", "--preset", "window", "--window", "24000", "--max-output", "2000"];
    let once = foldback(&[&["compact", &session][..], &limits].concat()).done();
    std::fs::write(out, &once.stdout).unwrap();
    let twice = foldback(&[&["compact", out][..], &limits].concat()).done();
    assert!(once.stdout == twice.stdout, "{}", twice.stderr);
    for line in once.stderr.lines().filter(|line| line.contains("window.split: changed")) {
        let sizes = line.split_once("changed, ").unwrap().1.split_once(" tokens").unwrap().0;
        let (before, after) = sizes.split_once(" → ").unwrap();
        assert_ne!(before, after, "{line}");
    }
}

/// What a provider refuses is left out and said, or printed.
#[test]
fn what_a_provider_refuses_is_said() {
    let mixed = case("B20-orphans-go-out/lc-mixed.json");
    let dangling = case("B20-orphans-go-out/pyd-dangling.json");
    let steer = case("B08-convert-message-between-call-and-result/steer-chat.json");
    let refused = "a provider refuses this as it is";
    let table = [
        (
            vec!["convert", &mixed, "-", "--to", "openai-chat"],
            "1 result without a call: openai-chat",
        ),
        (
            vec!["compact", &mixed, "--preset", "none", "--to", "openai-chat"],
            "1 result(s) without a call",
        ),
        (vec!["compact", &mixed, "--preset", "none", "--to", "foldback"], "(result-without-call)"),
        (vec!["convert", &dangling, "-", "--to", "anthropic"], "(call-unanswered)"),
        (vec!["compact", &dangling, "--preset", "none"], "(call-unanswered)"),
        (vec!["compact", &steer, "--preset", "none"], refused),
        (
            vec!["convert", &steer, "-", "--to", "openai-chat"],
            "1 message between a call and its result",
        ),
    ];
    for (args, told) in table {
        let ran = foldback(&args).done();
        assert!(ran.stderr.contains(told), "{args:?}: {}", ran.stderr);
    }
}

/// A clock that runs backwards stands still: one fold, as in the recording whose times are in order.
#[foldback_needs::cases]
#[test]
fn a_clock_that_runs_backwards_makes_no_cache_cold() {
    let plan = |name: &str| {
        let file = format!("../shared/cases/B58-clock/{name}.jsonl");
        line(&format!("compact {file} --preset indexed --when live --window 100000 --show plan"))
            .done()
            .stdout
    };
    let skewed = plan("skewed");
    assert_eq!(skewed.matches("indexed.note at call-start").count(), 1, "{skewed}");
    assert_eq!(skewed, plan("in-order"));
}
