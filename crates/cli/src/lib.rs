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
mod endings;
mod error;
mod files;
mod folder;
mod groups;
mod input;
mod next;
mod notes;
#[cfg_attr(not(feature = "object-store"), path = "without_objects.rs")]
mod objects;
mod output;
mod page;
mod places;
mod progress;
mod replace;
mod results;
mod selection;
mod setup;
mod strategies;
mod summaries;

use foldback_replay::{Comparison, Store};
use std::ffi::OsString;
use std::io::Write as _;
use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the command on the process's arguments. Exit code 0 when it succeeded, 1 when it succeeded
/// but a budget is not met, 2 when the input or the arguments could not be used.
pub fn run() -> ExitCode {
    ExitCode::from(command(std::env::args_os()))
}

/// Runs the command in a program that holds it as a library, such as an interpreter of Python, and gives its exit code.
/// `library` is the file of that library: stored results belong to it, not to the interpreter.
pub fn run_in(library: PathBuf, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    results::belong_to(library);
    let code = command(iter::once("foldback".into()).chain(arguments));
    // Only a program in Rust does so at its end. If the reader has gone away, nothing is left to say.
    let _ = std::io::stdout().flush();
    code
}

fn command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match args::Args::from_words(arguments) {
        Ok(args) => args,
        // Help and version come here as well.
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    output::set_up(args.output);
    replace::begin(&args.given);
    match error::guarded(|| command::run(args.command)) {
        Ok(()) => 0,
        // The reader of the output has gone (`foldback … | head`), which is no failure.
        Err(error::Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            output::error(&error);
            error.code()
        }
    }
}

/// The result of a comparison.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compared {
    /// The comparison.
    pub comparison: Comparison,
    /// The store of its records, for rows.
    pub store: Store,
}

/// Arguments of a command that another program gives, behind fixed ones. Nothing is printed.
fn embedded(
    fixed: &[&str],
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<args::Args, String> {
    let fixed = ["foldback", "--quiet"].iter().chain(fixed).map(OsString::from);
    let args = args::Args::from_words(fixed.chain(arguments));
    let args = args.map_err(|error| error.to_string())?;
    output::set_up(args.output);
    Ok(args)
}

/// Computes what `foldback compare` with these arguments would, for another program. Nothing is written.
///
/// # Errors
///
/// The message that the command would print.
pub fn compare(arguments: impl IntoIterator<Item = OsString>) -> Result<Compared, String> {
    // Stored results belong to a build of the command.
    let args::Command::Compare(compare) =
        embedded(&["compare", "--store=none"], arguments)?.command
    else {
        return Err("these are no arguments of compare".to_owned());
    };
    let computed =
        error::guarded(|| command::compare::compute(&compare, strategies::Controls::All))
            .map_err(|error| error.to_string())?;
    Ok(Compared { comparison: computed.comparison, store: computed.store })
}

/// Does what `foldback score` with these arguments does, for a program of another kind.
///
/// # Errors
///
/// The message that the command would print.
pub fn score(arguments: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let args = embedded(&["score"], arguments)?;
    replace::begin(&args.given);
    error::guarded(|| command::run(args.command)).map_err(|error| error.to_string())
}
