//! Files, with errors that name them.

use std::path::Path;

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let made = std::fs::create_dir_all(path.parent().unwrap_or(path));
    let wrote = made.and_then(|()| std::fs::write(path, text));
    wrote.map_err(|error| format!("{}: {error}", path.display()))
}

/// Copies a file and makes the folders above it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let made = std::fs::create_dir_all(to.parent().unwrap_or(to));
    let copied = made.and_then(|()| std::fs::copy(from, to).map(|_| ()));
    copied.map_err(|error| format!("{}: {error}", from.display()))
}
