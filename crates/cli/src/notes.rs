//! Notes on standard error, and how many of them are printed.

use foldback_report::plain;
use std::io::Write as _;
use std::sync::OnceLock;

/// How much is printed on standard error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verbosity {
    Errors,
    Notes,
    Everything,
}

static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

/// Sets once how much is printed.
pub(crate) fn set(quiet: bool, verbose: bool) {
    let verbosity = match (quiet, verbose) {
        (true, _) => Verbosity::Errors,
        (false, false) => Verbosity::Notes,
        (false, true) => Verbosity::Everything,
    };
    VERBOSITY.get_or_init(|| verbosity);
}

fn shows(what: Verbosity) -> bool {
    *VERBOSITY.get().unwrap_or(&Verbosity::Notes) >= what
}

/// Whether notes are printed.
pub(crate) fn are_shown() -> bool {
    shows(Verbosity::Notes)
}

/// Whether `-v` was given.
pub(crate) fn is_verbose() -> bool {
    shows(Verbosity::Everything)
}

/// Prints details of the run if `--verbose` is set.
pub(crate) fn detail(text: impl std::fmt::Display) {
    if shows(Verbosity::Everything) {
        note(text);
    }
}

/// Prints a note on standard error. A closed or full standard error is ignored: the
/// results are what matters.
pub(crate) fn note(text: impl std::fmt::Display) {
    if !shows(Verbosity::Notes) {
        return;
    }
    let text = text.to_string();
    let _ = writeln!(anstream::stderr().lock(), "{}", plain::text(&text));
}
