//! Runs the command as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `foldback` with these arguments in the workspace's root.
pub(crate) fn foldback(args: &[&str]) -> Ran {
    run(args, "", &[])
}

/// The same with a text on standard input and environment variables set for the process.
pub(crate) fn run(args: &[&str], input: &str, env: &[(&str, &str)]) -> Ran {
    use std::io::Write as _;
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
    command.args(args).current_dir(root()).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["OPENCODE_DISABLE_AUTOCOMPACT", "OPENCODE_DISABLE_PRUNE"] {
        command.env_remove(name);
    }
    // Results that the user keeps are none of the tests' business.
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.envs(env.iter().copied());
    let mut child = command.spawn().expect("the command starts");
    // A command that fails before it reads closes the pipe; that is not the test's business.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}
