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

fn judged(args: &[&str]) {
    let judge = ["tests/judge/judge.py", env!("CARGO_BIN_EXE_foldback")];
    let limits = ["--quiet", "--limits", "--window 60000 --max-output 8000"];
    python("", &[&judge[..], args, &limits].concat());
}

/// On the one session in which all of them act.
#[foldback_needs::judge]
#[test]
fn an_outside_judge_comes_to_the_same_figures_of_every_preset() {
    judged(&["examples/sessions/journal-opencode.json", "--acting"]);
}

#[foldback_needs::judge]
#[test]
fn an_outside_judge_comes_to_the_same_figures_of_several_sessions() {
    judged(&["tests/four-sessions", "--preset", PRESETS]);
}
