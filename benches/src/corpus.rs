//! Recorded sessions, where the folder with them is there. Benches that want one go without it
//! otherwise, and say so.

use foldback_formats::{FORMATS, Session};
use std::fs;
use std::path::{Path, PathBuf};

/// A recorded file.
#[derive(Debug)]
pub struct Recording {
    /// Its format.
    pub format: &'static str,
    /// Name of the file.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The largest recording of every format, in the order of the table of formats. Empty, with a note
/// on standard error, where there is no folder.
pub fn largest() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/sessions");
    if !root.is_dir() {
        eprintln!("no recorded sessions at {}: generated ones only", root.display());
        return Vec::new();
    }
    FORMATS
        .iter()
        .filter_map(|format| {
            let file = largest_in(&root.join(format.id))?;
            Some(Recording {
                format: format.id,
                name: file.file_name()?.to_string_lossy().into_owned(),
                bytes: fs::read(&file).ok()?,
            })
        })
        .collect()
}

fn largest_in(folder: &Path) -> Option<PathBuf> {
    let mut files: Vec<(u64, PathBuf)> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.len(), entry.path()))
        })
        .collect();
    files.sort();
    files.pop().map(|(_, path)| path)
}

/// The longest session among recordings, by messages.
pub fn longest(recordings: &[Recording]) -> Option<(&Recording, Session)> {
    recordings
        .iter()
        .filter_map(|recording| {
            let sessions = foldback_formats::read(&recording.bytes, Some(recording.format)).ok()?;
            let session = sessions.into_iter().max_by_key(|session| session.messages.len())?;
            Some((recording, session))
        })
        .max_by_key(|(_, session)| session.messages.len())
}
