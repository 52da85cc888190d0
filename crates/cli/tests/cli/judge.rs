//! What `tests/judge` says: figures made again from outside, by docs/definitions.md.

use crate::common::root;
use foldback_testkit::needs_judge;
use std::process::Command;

/// Presets that cut, clear, hide, summarise and carry over, at a size at which they do.
const PRESETS: &str = "none,opencode,window,tiered,tunacode-local";

#[needs_judge]
#[test]
fn an_outside_judge_comes_to_the_same_figures() {
    let output = Command::new("python3")
        .args(["-B", "tests/judge/judge.py", env!("CARGO_BIN_EXE_foldback"), "examples/sessions"])
        .args(["--quiet", "--preset", PRESETS, "--limits", "--window 60000 --max-output 8000"])
        .current_dir(root())
        .output()
        .expect("python3 runs");
    let (said, failed) = (&output.stdout, &output.stderr);
    let (said, failed) = (String::from_utf8_lossy(said), String::from_utf8_lossy(failed));
    assert!(output.status.success(), "{said}{failed}");
}
