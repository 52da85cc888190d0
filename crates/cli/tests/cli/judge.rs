//! What `tests/judge` says: figures made again from outside, by docs/definitions.md.

use crate::common::root;
use std::process::Command;

/// Presets that cut, clear, hide, summarize and carry over, at a size at which they do.
const PRESETS: &str = "none,opencode,window,tiered,tunacode-local";

fn python(folder: &str, args: &[&str]) {
    let mut command = Command::new("python3");
    command.arg("-B").args(args).current_dir(root().join(folder));
    let output = command.output().expect("python3 runs");
    let (said, failed) = (&output.stdout, &output.stderr);
    let (said, failed) = (String::from_utf8_lossy(said), String::from_utf8_lossy(failed));
    assert!(output.status.success(), "{said}{failed}");
}

#[foldback_needs::judge]
#[test]
fn the_judge_keeps_to_the_examples_of_its_page() {
    python("tests/judge", &["-m", "unittest", "test_judge"]);
}

#[foldback_needs::judge]
#[test]
fn an_outside_judge_comes_to_the_same_figures() {
    let judged = ["tests/judge/judge.py", env!("CARGO_BIN_EXE_foldback"), "examples/sessions"];
    let limits = ["--limits", "--window 60000 --max-output 8000"];
    python("", &[&judged[..], &["--quiet", "--preset", PRESETS], &limits].concat());
}
