//! Which members setup wrote into which files. A user may have written the same: that stays when foldback's are taken out.

use super::Change;
use crate::error::Error;
use crate::files::{folder_of, place, there};
use crate::results;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The members of a file, by the names of their place with dots between them.
type Members = BTreeMap<String, Value>;

/// The members that setup wrote, by file.
#[derive(Debug, Default)]
pub(crate) struct SetupRecord {
    files: BTreeMap<String, Members>,
    /// The file that it is kept in, and the lock on it.
    kept: Option<(PathBuf, File)>,
}

impl SetupRecord {
    /// Opens the record. With `to_change` it waits for a lock, so that two runs follow one another.
    pub(crate) fn open(to_change: bool) -> Result<Self, Error> {
        let Some(folder) = results::state() else {
            let why =
                "neither HOME nor XDG_STATE_HOME is set, and what is written has to be remembered";
            return match to_change {
                true => Err(Error::Usage(why.to_owned())),
                false => Ok(Self::default()),
            };
        };
        let path = folder.join("setup.json");
        let fail = |error| Error::File { path: path.clone(), error };
        let mut written = Self::default();
        if to_change {
            results::make_private(&folder).map_err(fail)?;
            let lock = folder.join("setup.lock");
            let lock = OpenOptions::new().write(true).create(true).truncate(false).open(lock);
            let lock = lock.map_err(fail)?;
            lock.lock().map_err(fail)?;
            written.kept = Some((path.clone(), lock));
        }
        if let Some(bytes) = there(&path)? {
            written.files = serde_json::from_slice(&bytes).map_err(|error| {
                let way_out =
                    "delete it; what setup wrote until now then has to be taken out by hand";
                Error::Usage(format!("{}: {error}; {way_out}", path.display()))
            })?;
        }
        Ok(written)
    }

    /// Whether setup wrote this member.
    pub(super) fn has(&self, file: &Path, place: &str, value: &Value) -> bool {
        let members = self.files.get(&name(file));
        members.and_then(|members| members.get(place)) == Some(value)
    }

    /// The members that setup wrote into a file, of those with such a name.
    pub(super) fn members(&self, file: &Path, names: &[&str]) -> Vec<(String, Value)> {
        let members = self.files.get(&name(file)).into_iter().flatten();
        let named = members.filter(|(place, _)| names.contains(&place.as_str()));
        named.map(|(place, value)| (place.clone(), value.clone())).collect()
    }

    /// A change was made.
    pub(crate) fn note(&mut self, change: &Change, removed: bool) {
        let of_file = self.files.entry(name(&change.path)).or_default();
        for (place, value) in &change.members {
            match removed {
                true => drop(of_file.remove(place)),
                false => drop(of_file.insert(place.clone(), value.clone())),
            }
        }
        self.files.retain(|_, members| !members.is_empty());
    }

    /// Keeps what is remembered.
    pub(crate) fn keep(&self) -> Result<(), Error> {
        let Some((path, _)) = &self.kept else { return Ok(()) };
        let fail = |error| Error::File { path: path.clone(), error };
        let mut file = tempfile::NamedTempFile::new_in(folder_of(path)).map_err(fail)?;
        let text = serde_json::to_string_pretty(&self.files)?;
        file.write_all(text.as_bytes()).map_err(fail)?;
        file.persist(path).map_err(|error| fail(error.error))?;
        Ok(())
    }
}

/// A settings file under one name, whichever link leads to it and whether it is there or not.
fn name(file: &Path) -> String {
    place(file).unwrap_or_else(|_| file.to_owned()).display().to_string()
}
