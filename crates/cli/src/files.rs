//! What a file is, whatever it is called and whether it is there or not.

use crate::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// A file, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// Device and number.
    #[cfg(unix)]
    Node(u64, u64),
    /// Its path without links.
    Path(PathBuf),
}

impl Identity {
    /// The identity of a file, or of the place where one would be made; `None` where there can be none.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        if let Ok(found) = std::fs::metadata(path) {
            use std::os::unix::fs::MetadataExt as _;
            return Some(Self::Node(found.dev(), found.ino()));
        }
        path.canonicalize().or_else(|_| place(path)).ok().map(Self::Path)
    }
}

/// The folder that a file is in, or is to be in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The path of a file, whichever links lead to its folder and whether it is there or not.
pub(crate) fn place(file: &Path) -> io::Result<PathBuf> {
    Ok(folder_of(file).canonicalize()?.join(file.file_name().unwrap_or_default()))
}

/// The bytes of a file; `None` if it does not exist.
pub(crate) fn there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::File { path: path.to_owned(), error }),
    }
}
