//! Which files an output may replace: none that the command reads, and none that foldback did not write.
//!
//! Files are told by what they are, not by how they are spelled: links, hard links and other paths to one file are that file.
//! What foldback wrote is known by its place and content, so an output that somebody changed since is theirs. Hashes of both are
//! kept in the user's folder for state; where nothing can be kept, nothing that is there is replaced.

use crate::error::Error;
use crate::files::{Identity, folder_of, place};
use crate::results;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

thread_local! {
    /// Files that the command of this thread has read or written; `None` in a thread that runs no command.
    static USED: RefCell<Option<Vec<Identity>>> = const { RefCell::new(None) };
}

/// A command begins: it reads these.
pub(crate) fn begin(given: &[PathBuf]) {
    USED.set(Some(Vec::new()));
    given.iter().for_each(|path| uses(path));
}

/// The command reads a file, or has written it: nothing else that it writes takes its place.
pub(crate) fn uses(path: &Path) {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    USED.with_borrow_mut(|used| {
        if let Some(used) = used {
            used.extend(Identity::from_path(path));
        }
    });
}

fn is_used(path: &Path) -> bool {
    let file = Identity::from_path(path);
    USED.with_borrow(|used| used.iter().flatten().any(|used| Some(used) == file.as_ref()))
}

/// Refuses to replace a file that is not foldback's to replace. `sessions` are outputs themselves; no other output takes the
/// place of one.
///
/// # Errors
///
/// With the reason and the way out.
pub(crate) fn check(file: &Path, sessions: bool) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Usage(format!("{} {why}", file.display())));
    let fail = |error| Error::File { path: file.to_owned(), error };
    match std::fs::metadata(file) {
        Ok(found) if found.is_file() => {}
        // Nothing is there, or nothing that would be replaced.
        _ => return Ok(()),
    }
    let found = File::open(file).map_err(fail)?;
    if is_used(file) {
        return refuse("is used by this command already; name another file for the output");
    }
    let Some(content) = hash(found).map_err(fail)? else { return Ok(()) };
    if !sessions && is_session(file) {
        return refuse("is a recorded session; name another file for the output");
    }
    match is_known(file, &content) {
        true => Ok(()),
        false => refuse(
            "is not as foldback wrote it, or foldback did not write it; name another file for the output, or move it away",
        ),
    }
}

/// Whether foldback wrote what is in a file.
pub(crate) fn is_own(file: &Path) -> bool {
    let hash = File::open(file).and_then(hash);
    hash.is_ok_and(|content| content.is_some_and(|content| is_known(file, &content)))
}

/// The hash of a file; `None` where it is empty.
fn hash(mut file: File) -> io::Result<Option<blake3::Hash>> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(&mut file)?;
    Ok((hasher.count() > 0).then(|| hasher.finalize()))
}

/// Whether there is a session at a path.
fn is_session(file: &Path) -> bool {
    let bytes = foldback_formats::read_file(file).unwrap_or_default();
    foldback_formats::detect_bytes(&bytes).is_some()
}

/// Outputs that are remembered before the older half of them is forgotten.
const MOST: usize = 1 << 14;

/// The list of outputs: a hash in each line.
fn list() -> Option<PathBuf> {
    Some(results::state()?.join("outputs"))
}

/// The outputs that are remembered.
fn known() -> String {
    list().and_then(|list| std::fs::read_to_string(list).ok()).unwrap_or_default()
}

/// The line of an output: of its place, and of what was written there.
fn line(file: &Path, content: &blake3::Hash) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(content.as_bytes()).update(place(file)?.as_os_str().as_encoded_bytes());
    Ok(hasher.finalize().to_hex().to_string())
}

fn is_known(file: &Path, content: &blake3::Hash) -> bool {
    line(file, content).is_ok_and(|line| known().lines().any(|known| known == line))
}

/// Remembers an output. What can't be remembered is not replaced later; that is no reason to write nothing.
pub(crate) fn wrote(file: &Path, content: &blake3::Hash) {
    let _ = remember(file, content);
}

fn remember(file: &Path, content: &blake3::Hash) -> io::Result<()> {
    let Some(list) = list() else { return Ok(()) };
    let (known, line) = (known(), line(file, content)?);
    if known.lines().any(|known| known == line) {
        return Ok(());
    }
    let folder = folder_of(&list);
    results::make_private(folder)?;
    if known.lines().count() >= MOST {
        let mut shorter = tempfile::NamedTempFile::new_in(folder)?;
        known.lines().skip(MOST / 2).try_for_each(|known| writeln!(shorter, "{known}"))?;
        shorter.persist(&list).map_err(|error| error.error)?;
    }
    // Appended in one piece, so that several commands at once may do it.
    let line = format!("{line}\n");
    OpenOptions::new().append(true).create(true).open(&list)?.write_all(line.as_bytes())
}
