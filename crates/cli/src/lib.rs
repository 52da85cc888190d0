//! The `foldback` command as a library: a binary with further strategy crates names them and calls
//! [`run`].
//!
//! ```no_run
//! // use my_strategy as _;
//! fn main() -> std::process::ExitCode {
//!     foldback_cli::run()
//! }
//! ```

mod args;
#[cfg_attr(not(feature = "llm"), path = "without_models.rs")]
mod asking;
mod command;
mod design;
mod details;
mod error;
mod folder;
mod groups;
mod input;
mod next;
mod output;
mod page;
mod progress;
mod results;
mod selection;
mod strategies;
mod summaries;

use std::process::ExitCode;

/// Runs the command on the process's arguments. Exit code 0 when it succeeded, 1 when it succeeded
/// but a budget is not met, 2 when the input or the arguments could not be used.
pub fn run() -> ExitCode {
    let args = args::Args::read();
    output::set_up(args.output);
    match command::run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has gone away (`foldback … | head`): nothing is left to say.
        Err(error::Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.code())
        }
    }
}
