//! Results of finished replays on disk, so that a run that was stopped goes on where it was, and a run
//! with one preset more replays only that one.
//!
//! An entry is a file named by the hash of everything that its content depends on: bytes of the
//! session file, configuration of the preset, limits, prices, estimator, and the build that made it.
//! Nothing is ever updated in place. An entry that can't be read counts as missing.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Name of an entry.
pub(crate) type Key = blake3::Hash;

/// A folder of results.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// Removes the folder in the end, where it was made for one run.
    _temporary: Option<tempfile::TempDir>,
}

impl Store {
    /// Opens a store below `folder`, which is made where it is missing. `build` names the program that
    /// computes: results of other builds are deleted, since nothing says that they are still right.
    pub fn open(folder: &Path, build: &str) -> std::io::Result<Self> {
        let name = format!("build-{}", &blake3::hash(build.as_bytes()).to_hex()[..16]);
        let root = folder.join(&name);
        std::fs::create_dir_all(&root)?;
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let other = entry.file_name();
            let other = other.to_string_lossy();
            if other.starts_with("build-") && other != name {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(Self { root, _temporary: None })
    }

    /// A store that lives as long as the value.
    pub fn temporary() -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("foldback-").tempdir()?;
        Ok(Self { root: folder.path().to_owned(), _temporary: Some(folder) })
    }

    /// The entry, where there is one that can be read.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: Key) -> Option<T> {
        let bytes = std::fs::read(self.path(key)).ok()?;
        postcard::from_bytes(&bytes).ok()
    }

    /// Writes an entry, whole or not at all.
    pub(crate) fn put<T: Serialize>(&self, key: Key, value: &T) -> std::io::Result<()> {
        let bytes = postcard::to_stdvec(value).map_err(std::io::Error::other)?;
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    fn path(&self, key: Key) -> PathBuf {
        let hex = key.to_hex();
        self.root.join(&hex[..2]).join(&hex[2..])
    }
}

/// Hashes parts so that no two lists of parts give the same bytes.
pub(crate) fn key(parts: &[&[u8]]) -> Key {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_and_a_damaged_one_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), "one").unwrap();
        let at = key(&[b"a", b"bc"]);
        assert_ne!(at, key(&[b"ab", b"c"]));
        assert_eq!(store.get::<Vec<u64>>(at), None);
        store.put(at, &vec![1_u64, 2, 300]).unwrap();
        assert_eq!(store.get::<Vec<u64>>(at), Some(vec![1, 2, 300]));

        std::fs::write(store.path(at), [0xff]).unwrap();
        assert_eq!(store.get::<Vec<u64>>(at), None);
    }

    #[test]
    fn another_build_starts_anew() {
        let folder = tempfile::tempdir().unwrap();
        let at = key(&[b"a"]);
        Store::open(folder.path(), "one").unwrap().put(at, &1_u64).unwrap();
        std::fs::write(folder.path().join("kept"), "not ours").unwrap();
        let two = Store::open(folder.path(), "two").unwrap();
        assert_eq!(two.get::<u64>(at), None);
        two.put(at, &2_u64).unwrap();
        let again = Store::open(folder.path(), "two").unwrap();
        assert_eq!(again.get::<u64>(at), Some(2));
        assert!(folder.path().join("kept").exists());
    }
}
