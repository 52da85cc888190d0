//! The journals of a proxy: one file for each conversation in one folder, so that a restart continues where it was.
//!
//! The name of a file holds what the journal does not: the protocol, how many messages at its beginning are not the
//! engine's, the key after them, and a number. Beside it is what the provider said of its answers. What is in them is
//! what clients sent, so they are their owner's alone, wherever they lie.

use crate::fold::Id;
use foldback_live::follow::identity::Key;
use foldback_live::journal::JournalError;
use foldback_providers::wire::Dialect;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The end of the name of a journal.
const ENDING: &str = ".foldback.jsonl";

/// The end of the name of the file beside it.
const ANSWERS: &str = ".answers.jsonl";

/// The file in the folder that names the strategy which wrote it.
const STRATEGY: &str = "strategy";

/// The file of a conversation's answers, beside its journal.
pub(crate) fn answers(journal: &Path) -> PathBuf {
    beside(journal, ANSWERS)
}

/// A file beside another, whose name ends with this.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Journals that can't be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalsError {
    /// The folder can't be made or read.
    #[error("{}: {error}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A journal in it is damaged or in use.
    #[error(
        "{0}; a conversation whose file is moved out of the folder is followed again from its beginning"
    )]
    Journal(#[from] JournalError),
}

/// What the name of a journal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalName {
    pub(crate) dialect: Dialect,
    pub(crate) base: usize,
    pub(crate) key: Key,
    pub(crate) id: Id,
}

impl JournalName {
    fn file_name(&self) -> String {
        let Self { dialect, base, key, id } = self;
        format!("{dialect}.{base}.{}.{id}{ENDING}", key.to_hex())
    }

    /// `None` if the file is not a journal of a proxy.
    fn parse(file: &str) -> Option<Self> {
        let mut parts = file.strip_suffix(ENDING)?.split('.');
        let protocol = parts.next()?;
        let dialect = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == protocol)?;
        let base = parts.next()?.parse().ok()?;
        let key = Key::from_hex(parts.next()?).ok()?;
        let id = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { dialect, base, key, id })
    }

    /// What the name of a journal at this place says.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        path.file_name()?.to_str().and_then(Self::parse)
    }

    /// Where its journal is.
    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(self.file_name())
    }
}

/// The journals in a folder, the one that was written last at the end. A missing folder is made, for its owner
/// alone. Anything but a plain file is left alone, whatever its name.
pub(crate) fn all(folder: &Path) -> Result<Vec<JournalName>, JournalsError> {
    let wrong = |error| JournalsError::Folder { folder: folder.to_owned(), error };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(wrong)?;
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let Some(journal) = entry.file_name().to_str().and_then(JournalName::parse) else {
            continue;
        };
        let path = entry.path();
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if !metadata.is_file() {
            continue;
        }
        for file in [path.as_path(), &answers(&path)] {
            keep_private(file);
        }
        // A system that tells no times has the numbers.
        all.push((metadata.modified().ok(), journal));
    }
    all.sort_by_key(|(written, journal)| (*written, journal.id));
    Ok(all.into_iter().map(|(_, journal)| journal).collect())
}

/// Notes which strategy writes the journals of a folder from now on. Gives the strategy that did until now, if it
/// differs.
pub(crate) fn written_by(folder: &Path, strategy: &str) -> Option<String> {
    let path = folder.join(STRATEGY);
    let before = read(&path).and_then(|bytes| String::from_utf8(bytes).ok());
    let before = before.map(|before| before.trim_end().to_owned());
    if before.as_deref() == Some(strategy) {
        return None;
    }
    // Where it can't be written, the journals can't either, which is counted.
    let _ = write(&path, format!("{strategy}\n").as_bytes());
    before
}

/// Replaces a file by one for its owner alone. The old one is whole until the new one is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path, ".new");
    write(&new, bytes)?;
    fs::rename(new, path)
}

/// Writes a small file for its owner alone.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if !is_writable(path) {
        return Err(io::Error::other(format!("{} is no file", path.display())));
    }
    let mut file =
        private(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?;
    io::Write::write_all(&mut file, bytes)
}

/// Deletes a journal and what is beside it.
pub(crate) fn delete(journal: &Path) {
    // One that stays is read at the next start, and goes then.
    let _ = fs::remove_file(answers(journal));
    let _ = fs::remove_file(journal);
}

/// What a plain file holds; `None` where it can't be read, or is something else: reading a pipe would not end.
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether a file can be written without waiting: opening a pipe would.
pub(crate) fn is_writable(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// Options that create a file for its owner alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Takes a file from everybody but its owner, where an earlier version or a copy left it open.
fn keep_private(path: &Path) {
    #[cfg(unix)]
    if is_writable(path) {
        use std::os::unix::fs::PermissionsExt as _;
        // Where it is not there or not ours, there is nothing to take.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_was_made_of_and_other_files_are_left_alone() {
        let key = blake3::hash(b"x");
        let journal = JournalName { dialect: Dialect::OpenAiChat, base: 3, key, id: 12 };
        assert_eq!(JournalName::parse(&journal.file_name()), Some(journal.clone()));
        let file = journal.file_name();
        for other in [
            "notes.txt",
            "a.foldback.jsonl",
            &file[1..],
            &file[..file.len() - 1],
            &format!("{file}{ENDING}"),
        ] {
            assert_eq!(JournalName::parse(other), None, "{other}");
        }
    }
}
