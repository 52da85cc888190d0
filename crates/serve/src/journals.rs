//! The journals of a proxy: one file for each conversation in one folder, so that a restart continues where it was.
//!
//! The name of a file holds what the journal does not: the protocol, how many messages at its beginning are not the
//! engine's, the key after them, and a number. Beside it is what the provider said of its answers. A conversation that
//! the proxy forgets loses both files. What is in them is what clients sent.

use crate::conversations::Id;
use foldback_live::follow::identity::Key;
use foldback_live::journal::JournalError;
use foldback_wire::Dialect;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The end of the name of a journal.
const ENDING: &str = ".foldback.jsonl";

/// The end of the name of the file beside it.
const ANSWERS: &str = ".answers.jsonl";

/// Where the answers of a conversation are, beside its journal.
pub(crate) fn answers(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(ANSWERS);
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
pub(crate) struct Named {
    pub(crate) dialect: Dialect,
    pub(crate) base: usize,
    pub(crate) key: Key,
    pub(crate) id: Id,
}

impl Named {
    fn file(&self) -> String {
        let Self { dialect, base, key, id } = self;
        format!("{dialect}.{base}.{}.{id}{ENDING}", key.to_hex())
    }

    /// `None` where a file is none of the proxy's.
    fn read(file: &str) -> Option<Self> {
        let mut parts = file.strip_suffix(ENDING)?.split('.');
        let name = parts.next()?;
        let dialect = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == name)?;
        let base = parts.next()?.parse().ok()?;
        let key = Key::from_hex(parts.next()?).ok()?;
        let id = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { dialect, base, key, id })
    }

    /// Where its journal is.
    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(self.file())
    }
}

/// The journals in a folder, the oldest first. The folder is made, for its owner alone, where it is not there.
pub(crate) fn all(folder: &Path) -> Result<Vec<Named>, JournalsError> {
    let wrong = |error| JournalsError::Folder { folder: folder.to_owned(), error };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(wrong)?;
    let mut named = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        named.extend(entry.map_err(wrong)?.file_name().to_str().and_then(Named::read));
    }
    named.sort_by_key(|named| named.id);
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_was_made_of_and_other_files_are_left_alone() {
        let key = blake3::hash(b"x");
        let named = Named { dialect: Dialect::OpenAiChat, base: 3, key, id: 12 };
        assert_eq!(Named::read(&named.file()), Some(named.clone()));
        let file = named.file();
        for other in [
            "notes.txt",
            "a.foldback.jsonl",
            &file[1..],
            &file[..file.len() - 1],
            &format!("{file}{ENDING}"),
        ] {
            assert_eq!(Named::read(other), None, "{other}");
        }
    }
}
