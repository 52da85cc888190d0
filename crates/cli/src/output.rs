//! Writing outputs: to standard output, or to a file, whole or not at all.

use crate::args::{OutputArgs, PRINTED};
use crate::error::Error;
use crate::files::{Identity, folder_of, there};
use crate::notes;
pub(crate) use crate::notes::{detail, is_verbose, note};
use crate::replace;
use foldback_core::validity::Violation;
use foldback_report::rows::{Format, flat};
use foldback_report::{Width, json, plain};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufWriter, IsTerminal as _, Seek as _, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Prints a report to standard output. Quoted text can't control the terminal.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    out.write_all(plain::text(text).as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Prints a report, unless one of the documents that are asked for goes to standard output: that one stands alone, so that it can be
/// piped.
pub(crate) fn print_beside(documents: &[&Option<PathBuf>], text: &str) -> Result<(), Error> {
    let mut named = documents.iter().filter_map(|path| path.as_ref());
    match named.any(|path| is_stdout(path)) {
        true => Ok(()),
        false => print(text),
    }
}

/// Writes a JSON document where it is asked for.
pub(crate) fn json(path: Option<&PathBuf>, document: &impl Serialize) -> Result<(), Error> {
    path.map_or(Ok(()), |path| write(Some(path), &json::document(document)?))
}

/// The file for rows, and how they are written.
pub(crate) fn rows_file(path: Option<&PathBuf>) -> Result<Option<(&PathBuf, Format)>, Error> {
    let format = path.map(|path| Format::from_path(path)).transpose();
    Ok(path.zip(format.map_err(|error| Error::Usage(error.to_string()))?))
}

/// Writes rows where they are asked for.
pub(crate) fn rows(file: Option<(&PathBuf, Format)>, rows: &[impl Serialize]) -> Result<(), Error> {
    file.map_or(Ok(()), |(path, format)| write_with(Some(path), |out| flat(rows, format, out)))
}

/// Applies the user's output options.
pub(crate) fn set_up(args: OutputArgs) {
    if let Some(threads) = args.jobs {
        let threads = at_most_processors(threads);
        // It fails only where the threads are there already, and nothing has run yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    notes::set(args.quiet, args.verbose);
}

/// The threads for so many jobs: more of them than processors take memory and turns, and do nothing.
fn at_most_processors(jobs: usize) -> usize {
    std::thread::available_parallelism().map_or(jobs, |processors| jobs.min(processors.get()))
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

/// The texts of a comparison that are printed in color.
pub(crate) struct Marks<'a> {
    /// How the answer begins, and whether it says what to use.
    pub(crate) answer: Option<(String, bool)>,
    /// The preset that it names.
    pub(crate) best: Option<&'a str>,
    /// The notes of presets.
    pub(crate) warnings: &'a [String],
}

/// Prints the result of a comparison as [`print`] does, with the answer, the preset that it names, and warnings in color.
pub(crate) fn screen(text: &str, marks: &Marks<'_>) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    for line in plain::text(text).lines() {
        writeln!(out, "{}", colored(line, marks)).map_err(Error::Output)?;
    }
    out.flush().map_err(Error::Output)
}

fn colored(line: &str, marks: &Marks<'_>) -> String {
    use owo_colors::OwoColorize as _;
    let Marks { answer, best, warnings } = marks;
    if let Some(rest) = line.strip_prefix('✗') {
        return format!("{}{rest}", "✗".red());
    }
    if let Some((start, uses)) = answer
        && let Some(rest) = line.strip_prefix(start.as_str())
    {
        return match uses {
            true => format!("{}{rest}", start.green().bold()),
            false => format!("{}{rest}", start.yellow()),
        };
    }
    let (start, rest) = line.split_at(line.find([':', ',']).unwrap_or(line.len()));
    let warns = start == "unusable"
        || line == "Cautions"
        || start == "1 caution"
        || start.ends_with(" cautions");
    if warns {
        return format!("{}{rest}", start.yellow());
    }
    // A row of a table: its name, and its note at the end.
    let note = warnings.iter().filter_map(|note| line.strip_suffix(note.as_str()));
    let row = note.filter(|row| row.ends_with("  ")).map(str::len).min();
    let (line, note) = line.split_at(row.unwrap_or(line.len()));
    let note = if note.is_empty() { String::new() } else { note.yellow().to_string() };
    match best.and_then(|best| Some((best, line.strip_prefix(best)?))) {
        Some((best, row)) if row.starts_with("  ") => format!("{}{row}{note}", best.green().bold()),
        _ => format!("{line}{note}"),
    }
}

/// Refuses outputs that can't be written, two with one target, and those that would take the place of what is not
/// foldback's to replace, before anything is computed.
pub(crate) fn check(outputs: &[&Path], sessions: bool) -> Result<(), Error> {
    let (mut to_stdout, mut targets) = (false, Vec::new());
    for path in outputs {
        match writable(path)? {
            Target::Stdout if to_stdout => {
                let why = "two outputs go to standard output; name a file for one of them";
                return Err(Error::usage(why));
            }
            Target::Stdout => to_stdout = true,
            Target::Special => {}
            Target::File(file) => {
                let target = Identity::from_path(&file);
                if targets.contains(&target) {
                    return Err(Error::Usage(format!(
                        "{} is named for two outputs; name another file for one of them",
                        path.display()
                    )));
                }
                replace::check(&file, sessions)?;
                targets.push(target);
            }
        }
    }
    Ok(())
}

/// Where an output goes, if it can be written there.
fn writable(path: &Path) -> Result<Target, Error> {
    let fail = |error: std::io::Error| Error::File { path: path.to_owned(), error };
    let target = Target::from_path(path).map_err(fail)?;
    let Target::File(file) = &target else { return Ok(target) };
    let folder = folder_of(file);
    match std::fs::metadata(folder) {
        Ok(found) if !found.is_dir() => Err(fail(std::io::ErrorKind::NotADirectory.into())),
        Ok(_) => Ok(target),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::Usage(format!(
            "{}: there is no folder {}; make it first, or name another file for the output",
            path.display(),
            folder.display()
        ))),
        Err(error) => Err(fail(error)),
    }
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
const STDOUT: [&str; 4] = [PRINTED, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Whether a path is a file that a process holds open, by its number in the system's list. Who holds it goes on writing there:
/// another file in its place would take nothing of that.
fn is_open_file(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_some_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd"))
}

/// Links to follow before assuming a loop, as Linux does.
const MOST_LINKS: usize = 40;

/// Where an output goes.
enum Target {
    Stdout,
    /// A pipe, a device or another file that is not regular: it is written to directly.
    Special,
    /// A regular file, or a path without a file: it is replaced as a whole.
    File(PathBuf),
}

impl Target {
    /// Follows links, so that their target is replaced and not the link.
    fn from_path(path: &Path) -> std::io::Result<Self> {
        let (mut file, mut is_open) = (path.to_owned(), false);
        for _ in 0..MOST_LINKS {
            if STDOUT.iter().any(|name| file == Path::new(name)) {
                return Ok(Self::Stdout);
            }
            is_open |= is_open_file(&file);
            let Ok(next) = std::fs::read_link(&file) else {
                return match std::fs::metadata(path) {
                    Ok(found) if found.is_dir() => Err(std::io::Error::new(
                        std::io::ErrorKind::IsADirectory,
                        "is a folder; name a file",
                    )),
                    Ok(found) if !found.is_file() => Ok(Self::Special),
                    _ if is_open => Err(std::io::Error::other(
                        "is a file that is open already; name the file itself, or - for standard output",
                    )),
                    _ => Ok(Self::File(file)),
                };
            };
            file = file.parent().unwrap_or(Path::new("")).join(next);
        }
        Err(std::io::Error::other("too many links"))
    }
}

/// The path of a file, or of the one that is to be there, behind all links.
pub(crate) fn behind_links(path: &Path) -> std::io::Result<PathBuf> {
    match Target::from_path(path)? {
        Target::File(file) => Ok(file),
        _ => Err(std::io::Error::other("is no regular file")),
    }
}

/// Whether the path of an output is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    matches!(Target::from_path(path), Ok(Target::Stdout))
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
    match Target::from_path(path).map_err(fail)? {
        Target::Stdout => to_stdout(content),
        Target::Special => {
            let opened = std::fs::OpenOptions::new().write(true).open(path).map_err(fail)?;
            let mut out = BufWriter::new(opened);
            content(&mut out).and_then(|()| out.flush()).map_err(fail)
        }
        Target::File(file) => {
            let mut hashed = blake3::Hasher::new();
            let content = |out: &mut dyn Write| content(&mut Hashing(out, &mut hashed));
            let temporary = temporary(&file, content).map_err(fail)?;
            // Something may have been put there meanwhile.
            replace::check(&file, true)?;
            replace::wrote(&file, &hashed.finalize());
            temporary.persist(&file).map_err(|error| fail(error.error))?;
            // Another output of this command does not take its place.
            replace::uses(&file);
            Ok(())
        }
    }
}

/// Writes into a file what is to be there instead of its text, which is `before` (`None`: there is no file), whoever wrote
/// it. A link is followed.
pub(crate) fn write_over(path: &Path, before: Option<&[u8]>, after: &str) -> Result<(), Error> {
    let fail = |error: std::io::Error| Error::File { path: path.to_owned(), error };
    let Target::File(file) = Target::from_path(path).map_err(fail)? else {
        return Err(Error::Usage(format!("{} is no regular file", path.display())));
    };
    let temporary = temporary(&file, |out| out.write_all(after.as_bytes())).map_err(fail)?;
    let now = there(path)?;
    if now.as_deref() != before {
        let why =
            "was changed by another program meanwhile and is left as it is; run the command again";
        return Err(Error::Usage(format!("{} {why}", path.display())));
    }
    if is_more_than_text(&file, &temporary) {
        return write_into(&file, &now.unwrap_or_default(), after.as_bytes()).map_err(fail);
    }
    temporary.persist(&file).map_err(|error| fail(error.error))?;
    Ok(())
}

/// Whether a file has further names, another owner or attributes of its own, which a new file in its place would not have.
#[cfg(unix)]
fn is_more_than_text(file: &Path, new: &NamedTempFile) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(old), Ok(new)) = (std::fs::metadata(file), new.as_file().metadata()) else {
        return false;
    };
    let mut names = [0; 65_536];
    // A folder that cannot be listed may hold the file.
    let has_attributes = match rustix::fs::listxattr(file, &mut names) {
        // The system gives this one to every file.
        Ok(bytes) => names[..bytes]
            .split(|byte| *byte == 0)
            .any(|name| !name.is_empty() && name != b"security.selinux"),
        Err(error) => error != rustix::io::Errno::NOTSUP,
    };
    old.nlink() > 1 || (old.uid(), old.gid()) != (new.uid(), new.gid()) || has_attributes
}

#[cfg(not(unix))]
fn is_more_than_text(_: &Path, _: &NamedTempFile) -> bool {
    false
}

/// Writes into a file that keeps all else that it has. If it fails, its text is put back.
fn write_into(file: &Path, before: &[u8], after: &[u8]) -> std::io::Result<()> {
    let mut opened = std::fs::OpenOptions::new().write(true).open(file)?;
    let mut put = |text: &[u8]| {
        opened.rewind()?;
        opened.write_all(text)?;
        opened.set_len(text.len() as u64)
    };
    put(after).or_else(|error| put(before).and(Err(error)))
}

/// A writer that hashes what goes through it.
struct Hashing<'a>(&'a mut dyn Write, &'a mut blake3::Hasher);

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Data is written unchanged: stripping colors would strip control characters, too.
fn to_stdout(content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Error> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    content(&mut out).and_then(|()| out.flush()).map_err(Error::Output)
}

/// A new file, written whole beside the path that it is to take. Its permissions are never wider than those of the file there.
fn temporary(
    file: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<NamedTempFile> {
    // A file that its owner protected from writing is not replaced either.
    let old = match std::fs::OpenOptions::new().write(true).open(file) {
        Ok(old) => Some(old.metadata()?.permissions()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut builder = tempfile::Builder::new();
    // A temporary file is private; what a user asked for is as readable as any other file of theirs.
    #[cfg(unix)]
    builder.permissions(old.clone().unwrap_or_else(|| PermissionsExt::from_mode(0o666)));
    let mut temporary = builder.tempfile_in(folder_of(file))?;
    let mut buffered = BufWriter::new(&mut temporary);
    content(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    // The umask may have taken something from them.
    if let Some(permissions) = old {
        temporary.as_file().set_permissions(permissions)?;
    }
    Ok(temporary)
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_are_made_than_there_are_processors() {
        let processors = std::thread::available_parallelism().unwrap().get();
        assert_eq!([1, 8_000].map(at_most_processors), [1, processors]);
    }

    /// Settings that a host wrote while they were looked at are the host's.
    #[test]
    fn what_another_program_wrote_meanwhile_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        for (before, now) in [(Some(&b"{}"[..]), "{\"key\": 1}"), (None, "{}"), (Some(b"{}"), "")] {
            std::fs::write(&file, now).unwrap();
            let refused = write_over(&file, before, "mine").unwrap_err().to_string();
            assert!(refused.contains("was changed by another program meanwhile"), "{refused}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), now);
        }
        write_over(&file, Some(b""), "mine").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }

    /// The replacement of a private file is at no moment more readable than it.
    #[test]
    fn a_private_file_stays_private_while_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        for mode in [0o600, 0o640, 0o400] {
            std::fs::write(&file, "{}").unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            let mut seen = Vec::new();
            let content = |out: &mut dyn Write| {
                for entry in std::fs::read_dir(folder.path())? {
                    seen.push(entry?.metadata()?.permissions().mode() & 0o777 & !mode);
                }
                out.write_all(b"{\"key\": 1}")
            };
            if let Ok(made) = temporary(&file, content) {
                assert_eq!(made.as_file().metadata().unwrap().permissions().mode() & 0o777, mode);
                assert_eq!(seen, [0, 0]);
            }
            std::fs::remove_file(&file).unwrap();
        }
    }
}
