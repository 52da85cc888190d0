//! The closed loop (`tests/closed-loop`): an agent behind the proxy that looks up what its requests lack.

use crate::common::root;
use std::process::Command;

#[foldback_needs::judge]
#[test]
fn an_agent_behind_the_proxy_costs_what_a_replay_of_its_log_says() {
    let mut python = Command::new("python3");
    python.args(["-B", "-m", "unittest", "test_closed_loop"]);
    python.env("FOLDBACK", env!("CARGO_BIN_EXE_foldback"));
    let output = python.current_dir(root().join("tests/closed-loop")).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
