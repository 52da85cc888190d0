//! The strategy crate in `examples/custom-strategy`, built and run as its author would: outside the
//! workspace, with a binary of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the example's binary; its output, errors behind it.
fn run(args: &[&str]) -> (bool, String) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // The example has a lock file and a target folder of its own; the latter lies inside the
    // workspace's, so that nothing is left behind in the tree.
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), PathBuf::from)
        .join("custom-strategy");
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--manifest-path", "examples/custom-strategy/Cargo.toml", "--"])
        .args(args)
        .env("CARGO_TARGET_DIR", target)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_strategy_crate_of_ones_own_shows_up_everywhere() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["stages"], &["head-tail", "tunacode.placeholder"]),
        (&["stages", "head-tail"], &["lines = 20"]),
        (&["presets"], &["head-tail", "opencode-1.17"]),
        (&["compare", "examples/sessions", "--preset", "none,head-tail"], &["head-tail"]),
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
