//! Writing what was asked for: to standard output, or whole to a file or not at all.

use crate::error::Error;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::Path;

/// Prints to standard output.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Writes a text as [`write_with`] does.
pub(crate) fn write(path: Option<&Path>, text: &str) -> Result<(), Error> {
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a file by way of a temporary one beside it, so that nothing is ever written half. `-` and
/// nothing are standard output.
pub(crate) fn write_with(
    path: Option<&Path>,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        // Data goes out as it is: what strips colours from text would strip control characters, too.
        let mut out = std::io::stdout().lock();
        return content(&mut out).and_then(|()| out.flush()).map_err(Error::Output);
    };
    let fail = |error: std::io::Error| Error::File { path: path.to_owned(), error };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(fail)?;
    let mut buffered = BufWriter::new(&mut file);
    content(&mut buffered).and_then(|()| buffered.flush()).map_err(fail)?;
    drop(buffered);
    // A temporary file is private; what a user asked for is as readable as any other file of theirs.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_or(0o644, |old| old.permissions().mode() & 0o777);
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(fail)?;
    }
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// Counts replays on a terminal; how many sessions the files hold is not known before they are read.
pub(crate) fn progress(message: String) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} replays, {elapsed}; {msg}");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        .with_message(message)
}

/// Columns of the terminal; 100 where there is none.
pub(crate) fn width() -> u16 {
    terminal_size::terminal_size().map_or(100, |(width, _)| width.0.clamp(80, 140))
}
