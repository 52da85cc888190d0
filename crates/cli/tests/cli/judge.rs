//! What `tests/judge` says: figures made again from outside, by docs/definitions.md.

use crate::common::root;
use std::process::Command;

/// Presets that cut, clear, hide, summarize and carry over.
const PRESETS: &str = "none,opencode,window,tiered,tunacode-local,openhands";

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
    let judge = ["tests/judge/judge.py", env!("CARGO_BIN_EXE_foldback")];
    let limits = ["--quiet", "--limits", "--window 60000 --max-output 8000"];
    // Every preset on the one session in which all of them act, and those of each kind on all.
    let one = ["examples/sessions/journal-opencode.json", "--acting"];
    python("", &[&judge[..], &one, &limits].concat());
    let all = ["tests/four-sessions", "--preset", PRESETS];
    python("", &[&judge[..], &all, &limits].concat());
}
