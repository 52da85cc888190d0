//! The folder of a store: which of its files are packs, and which are deleted when there are too many.

use super::{PART, pack};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The packs of a folder by their number. What else is there is none of our business.
pub(super) fn packs(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut packs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(number) = number(&path) {
            packs.push((number, path));
        }
    }
    packs.sort();
    Ok(packs)
}

fn number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_prefix("results-")?.strip_suffix(".pack")?;
    (digits.len() >= 6 && path.is_file()).then(|| digits.parse().ok())?
}

/// Begins a pack after all others and locks it.
pub(super) fn begin(folder: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = packs(folder)?.last().map_or(0, |(number, _)| *number);
    loop {
        number += 1;
        let path = folder.join(format!("results-{number:06}.pack"));
        let file = match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        match file.try_lock() {
            Ok(()) => return Ok((path, file)),
            // Another process was quick enough to take what was just made.
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                fs::remove_file(&path)?;
                return Err(error);
            }
        }
    }
}

/// Opens a pack to write into it; `None` where another process does.
pub(super) fn lock(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Deletes packs until no more than `most` bytes are left: those first that were used least recently. Who reads
/// one goes on reading it; one that is written is left. A part stays whole unless all of it is to be deleted.
pub(super) fn shrink(folder: &Path, most: u64) -> io::Result<()> {
    if most > 0 && folder.join(PART).exists() {
        return Ok(());
    }
    let mut packs: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for (_, path) in self::packs(folder)? {
        let found = path.metadata()?;
        packs.push((found.modified()?, found.len(), path));
    }
    packs.sort();
    let mut all: u64 = packs.iter().map(|(_, length, _)| length).sum();
    for (_, length, path) in packs {
        if all <= most {
            break;
        }
        if lock(&path).is_some_and(|mut file| pack::is_pack(&mut file)) {
            fs::remove_file(&path)?;
            all -= length;
        }
    }
    Ok(())
}

/// How many packs a folder has, and their bytes; none where there is no such folder.
pub(super) fn size(folder: &Path) -> io::Result<(usize, u64)> {
    let packs = match packs(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, 0)),
        packs => packs?,
    };
    let bytes: io::Result<u64> = packs.iter().map(|(_, path)| Ok(path.metadata()?.len())).sum();
    Ok((packs.len(), bytes?))
}
