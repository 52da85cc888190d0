//! The `foldback` command with a summarizer more.

use std::process::ExitCode;
use third_party as _;

fn main() -> ExitCode {
    foldback_cli::run()
}
