//! The `foldback` command with a summarizer more.

mod headline;

use std::process::ExitCode;

fn main() -> ExitCode {
    foldback_cli::run()
}
