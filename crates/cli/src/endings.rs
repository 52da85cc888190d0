//! Which names of files stand for sessions.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// Extensions of files in a folder that may hold a session. A file that is named is read whatever it is
/// called.
pub(crate) const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "traj", "eval"];

/// Extensions that follow these if the file is packed.
const PACKED: [&str; 3] = ["gz", "zst", "zstd"];

/// Whether a file is named as one that may hold a session.
pub(crate) fn is_session(path: &Path) -> bool {
    let path = unpacked(path);
    ending(&path).is_some_and(|ending| ENDINGS.contains(&ending))
}

/// The path without the extension of a packed file.
pub(crate) fn unpacked(path: &Path) -> Cow<'_, Path> {
    match ending(path) {
        Some(packed) if PACKED.contains(&packed) => Cow::Owned(path.with_extension("")),
        _ => Cow::Borrowed(path),
    }
}

fn ending(path: &Path) -> Option<&str> {
    path.extension().and_then(OsStr::to_str)
}
