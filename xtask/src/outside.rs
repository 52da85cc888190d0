//! A crate outside of the workspace that uses its packages.

use crate::files::{copy, write};
use std::path::Path;
use std::process::Command;

/// Makes a crate in a folder, with the versions of this workspace. `tables` are those of its manifest after the head,
/// `files` its files by their paths.
pub(crate) fn make(folder: &Path, tables: &str, files: &[(&str, &str)]) -> Result<(), String> {
    write(&folder.join("Cargo.toml"), &format!("{HEAD}{tables}{PROFILE}"))?;
    for (path, text) in files {
        write(&folder.join(path), text)?;
    }
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    copy(&lock, &folder.join("Cargo.lock"))
}

const HEAD: &str = r#"[package]
name = "outside"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

"#;

const PROFILE: &str = r#"
[profile.dev]
debug = false
"#;

/// `cargo`, run in a folder.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(folder);
    cargo
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    status.success().then_some(()).ok_or_else(|| format!("{command:?} failed"))
}
