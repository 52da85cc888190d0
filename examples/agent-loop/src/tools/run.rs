//! The tool that runs commands.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// Longest run.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Runs a command by the shell and returns its output, errors behind it, and its status where it
/// failed.
pub(super) async fn run(directory: &Path, command: &str) -> Result<String, String> {
    let running = Command::new("sh")
        .arg("-c")
        .arg(command)
        .current_dir(directory)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(TIMEOUT, running)
        .await
        .map_err(|_| format!("stopped after {} s", TIMEOUT.as_secs()))?
        .map_err(|error| format!("the shell can't be run: {error}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        return Ok(text);
    }
    let code = output.status.code();
    let code = code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    Err(format!("{text}\n[ended with {code}]"))
}
