//! The command line as outputs quote it: only the part that results depend on. Two runs that differ in where they write
//! quote equal lines.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::path::PathBuf;

/// Options that only affect where results are stored, how they are computed and how they are shown.
const SHOWN: [&str; 14] = [
    "store", "json", "html", "rows", "manifest", "show", "reader", "redact", "quiet", "verbose",
    "strict", "cassette", "record", "jobs",
];

/// Arguments that name what is written.
const OUTPUTS: [&str; 6] = ["json", "html", "rows", "manifest", "out", "output"];

/// The values of the wanted arguments that were given, but for outputs: each may be the path of a file that is read.
pub(super) fn given(
    described: &Command,
    matches: &ArgMatches,
    wanted: impl Fn(&Arg) -> bool,
) -> Vec<PathBuf> {
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    written(described, name, matches)
        .filter(|arg| wanted(arg))
        .filter(|arg| !OUTPUTS.contains(&arg.get_id().as_str()) && arg.get_action().takes_values())
        .flat_map(|arg| matches.get_raw(arg.get_id().as_str()).into_iter().flatten())
        .map(PathBuf::from)
        .collect()
}

/// The arguments of a subcommand that the command line has, in the order of the help.
fn written<'a>(
    described: &'a Command,
    name: &str,
    matches: &ArgMatches,
) -> impl Iterator<Item = &'a Arg> {
    let args = described.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    args.filter(|arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine))
}

/// The command line: paths, then options in the order of the help.
pub(super) fn text(described: &Command, matches: &ArgMatches) -> String {
    let mut words = vec![described.get_name().to_owned()];
    let Some((name, matches)) = matches.subcommand() else { return words.remove(0) };
    words.push(name.to_owned());
    let (paths, options): (Vec<&Arg>, Vec<&Arg>) = written(described, name, matches)
        .filter(|arg| !SHOWN.contains(&arg.get_id().as_str()))
        .partition(|arg| arg.is_positional());
    for arg in paths.into_iter().chain(options) {
        let flag = arg.get_long().map(|long| format!("--{long}"));
        let mut values = matches.get_raw(arg.get_id().as_str()).into_iter().flatten().peekable();
        if !arg.get_action().takes_values() || values.peek().is_none() {
            words.extend(flag);
            continue;
        }
        for value in values {
            words.extend(flag.clone());
            words.push(quoted(&value.to_string_lossy()));
        }
    }
    words.join(" ")
}

/// A word as a shell takes it.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@+,%".contains(c);
    match text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
