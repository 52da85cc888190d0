//! The preset, held against the laws of every strategy; what it makes of a short session; and the command that has it.

// A crate that is not named is not linked, and its preset would not be found.
use custom_strategy as _;
use foldback::Moment;
use foldback_testkit::{Session, assert_compaction_snapshot, assert_fires, diff, laws, lines};
use std::path::Path;
use std::process::Command;

laws!("head-tail");

fn failing_build() -> Session {
    Session::new("a failing build")
        .user("Mend the build.")
        .call("bash", "{\"command\":\"cargo test\"}", lines("log", 9_000))
        .answer("The test passes.")
        .user("Thank you.")
        .answer("You are welcome.")
}

#[test]
fn a_long_result_is_cut_when_the_next_turn_starts() {
    let fired = assert_fires!(failing_build(), "head-tail", Moment::TurnStart);
    assert_eq!(fired.len(), 1);
}

#[test]
fn a_failing_build_after_compaction() {
    assert_compaction_snapshot!(failing_build(), "head-tail", @r#"
    # head-tail · a failing build
    window of 200000 tokens, 16384 for the answer
    6 messages in the view, 6 in the history; 284 tokens (chars(code-points)/4 ceil)

    ## Folds
    001 turn-start head-tail: 2265 → 277 tokens; 1 edited

    ## View
    001 user u1
        text: Mend the build.
    002 assistant a2
        call bash c1: {"command":"cargo test"}
    003 tool t3
        result bash c1 (cut):     1 log: value_1 = 31⏎    2 log: value_2 = 62⏎    3 log: value_3 = 93⏎    4 lo … value_57 = 698⏎  349 log: value_58 = 729 (1048 characters)
    004 assistant a4
        text: The test passes.
    005 user u5
        text: Thank you.
    006 assistant a6
        text: You are welcome.
    "#);
}

#[test]
fn without_compaction_the_result_is_longer() {
    let text = diff("none", "head-tail", &failing_build());
    assert!(text.contains("+    result bash c1 (cut): "), "{text}");
}

/// Runs the example's binary from the root of the repository; its output, errors behind it.
fn run(args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_custom-strategy"))
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_strategy_crate_of_ones_own_shows_up_everywhere() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["stages"], &["head-tail", "tunacode.placeholder"]),
        (&["stages", "head-tail"], &["lines = 20"]),
        (&["presets"], &["head-tail", "opencode-1.17"]),
        (&["compare", "tests/four-sessions", "--preset", "none,head-tail"], &["head-tail"]),
    ];
    for (args, expected) in cases {
        let (done, text) = run(args);
        assert!(done, "{args:?}: {text}");
        for word in *expected {
            assert!(text.contains(word), "{args:?}: {text}\nlacks {word}");
        }
    }
    let folder = std::env::temp_dir().join(format!("foldback-custom-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("mine.toml");
    std::fs::write(
        &file,
        "name = \"mine\"\nextends = \"head-tail\"\n[[pruner]]\nuse = \"head-tail\"\nlinse = 3\n",
    )
    .expect("a file");
    let (done, text) = run(&["check", file.to_str().expect("UTF-8")]);
    assert!(!done, "{text}");
    assert!(text.contains("did you mean `lines`?"), "{text}");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
