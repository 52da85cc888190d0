//! The `foldback` command with one strategy crate more.

// A crate that is not named is not linked, and registers nothing.
use custom_strategy as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    foldback_cli::run()
}
