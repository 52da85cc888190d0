//! The example's binary, run as its author would.

use std::path::Path;
use std::process::Command;

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
