//! Writing outputs: to standard output, or to a file, whole or not at all.

use crate::args::{Color, OutputArgs};
use crate::error::Error;
use crate::notes;
pub(crate) use crate::notes::{detail, is_verbose, note};
use anstream::ColorChoice;
use foldback_core::validity::Violation;
use foldback_report::{Width, plain};
use std::collections::BTreeMap;
use std::io::{BufWriter, IsTerminal as _, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Prints a report to standard output. Quoted text can't control the terminal.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    out.write_all(plain::text(text).as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Applies the user's output options.
pub(crate) fn set_up(args: OutputArgs) {
    if let Some(threads) = args.jobs {
        // More of them than processors take memory and turns, and do nothing.
        let processors = std::thread::available_parallelism().map_or(threads, NonZero::get);
        let threads = threads.min(processors);
        // It fails only where the threads are there already, and nothing has run yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    notes::set(args.quiet, args.verbose);
    match args.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
}

/// The provider rules that an output in the format `id` breaks, a line each.
pub(crate) fn refused(id: &str, breaks: &[Violation]) -> Vec<String> {
    let mut rules: BTreeMap<&str, Vec<&Violation>> = BTreeMap::new();
    for broken in breaks {
        rules.entry(broken.rule).or_default().push(broken);
    }
    let line = |(rule, broken): (&str, Vec<&Violation>)| {
        let Violation { message, detail, .. } = broken.first()?;
        let more = match broken.len() {
            1 => String::new(),
            all => format!(", and {} more", all - 1),
        };
        Some(format!(
            "note: {id}: a provider refuses this as it is ({rule}): message {message}: {detail}{more}"
        ))
    };
    rules.into_iter().filter_map(line).collect()
}

/// Prints why the command ends. An unwanted result is no error.
pub(crate) fn error(error: &Error) {
    use owo_colors::OwoColorize as _;
    let text = error.to_string();
    let text = plain::text(&text);
    let mut out = anstream::stderr().lock();
    let _ = match error {
        Error::NotMet(_) => writeln!(out, "{} {text}", "not met:".yellow().bold()),
        _ => writeln!(out, "{} {text}", "error:".red().bold()),
    };
}

/// Prints the result of a comparison as [`print`] does, with the marks of presets in color.
pub(crate) fn screen(text: &str) -> Result<(), Error> {
    use owo_colors::OwoColorize as _;
    let mut out = anstream::stdout().lock();
    for line in plain::text(text).lines() {
        let written = match (line.strip_prefix('★'), line.strip_prefix('✗')) {
            (Some(rest), _) => writeln!(out, "{}{rest}", "★".green()),
            (_, Some(rest)) => writeln!(out, "{}{rest}", "✗".red()),
            _ => writeln!(out, "{line}"),
        };
        written.map_err(Error::Output)?;
    }
    out.flush().map_err(Error::Output)
}

/// Refuses outputs that can't be written, two with one target, and reports in place of a recorded session, before anything
/// is computed.
pub(crate) fn check(outputs: &[&Path], sessions: bool) -> Result<(), Error> {
    let mut targets = Vec::new();
    for path in outputs {
        let target = writable(path)?;
        let other = |why: &str| {
            Error::Usage(format!("{} {why}; name another file for the output", path.display()))
        };
        match &target {
            Target::Stdout if targets.contains(&target) => {
                let why = "two outputs go to standard output; name a file for one of them";
                return Err(Error::Usage(why.to_owned()));
            }
            Target::File(_) if targets.contains(&target) => {
                return Err(other("is named for two outputs"));
            }
            Target::File(file) if !sessions && is_session(file) => {
                return Err(other("is a recorded session"));
            }
            _ => targets.push(target),
        }
    }
    Ok(())
}

/// Where an output goes, if it can be written there.
fn writable(path: &Path) -> Result<Target, Error> {
    let fail = |error: std::io::Error| Error::File { path: path.to_owned(), error };
    let target = Target::of(path).map_err(fail)?;
    let Target::File(file) = &target else { return Ok(target) };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match std::fs::metadata(folder.unwrap_or(Path::new("."))) {
        Ok(found) if !found.is_dir() => Err(fail(std::io::ErrorKind::NotADirectory.into())),
        Ok(_) => Ok(target),
        Err(error) => Err(fail(error)),
    }
}

/// Whether there is a session at a path.
fn is_session(file: &Path) -> bool {
    let bytes = foldback_formats::read_file(file).unwrap_or_default();
    foldback_formats::detect_bytes(&bytes).is_some()
}

/// Writes a report for people: to standard output like [`print`], to a file unchanged.
pub(crate) fn report(path: Option<&Path>, text: &str) -> Result<(), Error> {
    match path.filter(|path| !is_stdout(path)) {
        Some(path) => write(Some(path), text),
        None => print(text),
    }
}

/// Writes a text as [`write_with`] does.
pub(crate) fn write(path: Option<&Path>, text: &str) -> Result<(), Error> {
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Names of standard output. Opened as a file, it would lose its present content.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Links to follow before assuming a loop, as Linux does.
const MOST_LINKS: usize = 40;

/// Where an output goes.
#[derive(PartialEq)]
enum Target {
    Stdout,
    /// A pipe, a device or another file that is not regular: it is written to directly.
    Special,
    /// A regular file, or a path without a file: it is replaced as a whole.
    File(PathBuf),
}

impl Target {
    /// Follows links, so that their target is replaced and not the link.
    fn of(path: &Path) -> std::io::Result<Self> {
        let mut file = path.to_owned();
        for _ in 0..MOST_LINKS {
            if STDOUT.iter().any(|name| file == Path::new(name)) {
                return Ok(Self::Stdout);
            }
            let Ok(next) = std::fs::read_link(&file) else {
                return match std::fs::metadata(path) {
                    Ok(found) if found.is_dir() => Err(std::io::Error::new(
                        std::io::ErrorKind::IsADirectory,
                        "is a folder; name a file",
                    )),
                    Ok(found) if !found.is_file() => Ok(Self::Special),
                    _ => Ok(Self::File(file)),
                };
            };
            file = file.parent().unwrap_or(Path::new("")).join(next);
        }
        Err(std::io::Error::other("too many links"))
    }
}

/// Whether the path of an output is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    Target::of(path).is_ok_and(|target| target == Target::Stdout)
}

/// Writes a file through a temporary one next to it, so that nothing is ever half written. `-` and
/// no path are standard output; anything that is not a regular file is written to directly.
pub(crate) fn write_with(
    path: Option<&Path>,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let Some(path) = path else {
        return to_stdout(content);
    };
    let fail = |error: std::io::Error| Error::File { path: path.to_owned(), error };
    match Target::of(path).map_err(fail)? {
        Target::Stdout => to_stdout(content),
        Target::Special => {
            let opened = std::fs::OpenOptions::new().write(true).open(path).map_err(fail)?;
            let mut out = BufWriter::new(opened);
            content(&mut out).and_then(|()| out.flush()).map_err(fail)
        }
        Target::File(file) => replace(&file, content).map_err(fail),
    }
}

/// Data is written unchanged: stripping colors would strip control characters, too.
fn to_stdout(content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Error> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    content(&mut out).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Replaces or creates a whole file.
fn replace(
    file: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    // A file that its owner protected from writing is not replaced either.
    let old = match std::fs::OpenOptions::new().write(true).open(file) {
        Ok(old) => Some(old.metadata()?.permissions()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut builder = tempfile::Builder::new();
    // A temporary file is private; what a user asked for is as readable as any other file of theirs.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut temporary = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    let mut buffered = BufWriter::new(&mut temporary);
    content(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    if let Some(permissions) = old {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Whether progress is visible.
pub(crate) fn shows_progress() -> bool {
    std::io::stderr().is_terminal() && notes::are_shown()
}

/// Width of reports: `COLUMNS`, else the width of the terminal on standard output.
pub(crate) fn width() -> Width {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let columns = set.filter(|columns| *columns > 0).or_else(|| {
        let terminal = std::io::stdout();
        let size = terminal.is_terminal().then(|| terminal_size::terminal_size_of(terminal));
        size.flatten().map(|(width, _)| width.0)
    });
    columns.map_or_else(Width::pipe, |columns: u16| Width::terminal(columns.max(NARROWEST)))
}

/// The smallest width that is respected. A narrower table has no room for a name and a number.
const NARROWEST: u16 = 40;
