//! Results of finished replays on disk, so that a stopped run resumes, and a run
//! with one preset more replays only that one.
//!
//! An entry is named by the hash of everything that its content depends on: bytes of the session file,
//! configuration of the preset, limits, prices, estimator, and the build that made it. Entries are stored in a few
//! packs with their length and hash. A file for each would take twice the disk, since entries have some 3 kB, and three times as
//! long to read. Nothing is ever updated in place. An entry that differs from what was
//! written counts as missing and is counted.
//!
//! Several processes, also of several builds, may use one folder. Each writes a pack of its own, which it
//! holds locked, and reads what was there when it began. Packs that were not used for longest are deleted
//! when all are larger than `Limits::all`. Where the folder can't be written any more, a temporary file takes the rest
//! of the run's results.
//!
//! The folder of a [part](super::parts) is a store, too. Nothing is deleted there, since it is copied and read as a whole.

mod folder;
mod pack;
mod places;
#[cfg(test)]
mod tests;

use pack::Name;
use places::{Places, Spot};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

/// Name of an entry, whatever build made it.
pub(crate) type Key = blake3::Hash;

/// Bytes that a store may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// A pack is full then.
    pack: u64,
    /// All packs together, once a run is over.
    all: u64,
}

const LIMITS: Limits = Limits { pack: 64 << 20, all: 1 << 30 };

/// A folder of results.
#[derive(Debug)]
pub struct Store {
    /// `None` for what lives as long as the value.
    folder: Option<PathBuf>,
    build: blake3::Hash,
    limits: Limits,
    held: RwLock<Contents>,
    writer: Mutex<Writer>,
    damaged: AtomicUsize,
    /// Results that are read where this store has none.
    parts: Vec<Store>,
}

/// The file that lists what a part holds.
pub(crate) const PART: &str = "part.json";

/// What can be read.
#[derive(Debug, Default)]
struct Contents {
    packs: Vec<Arc<Pack>>,
    places: Places,
}

impl Contents {
    /// Remembers entries of a pack. Entries whose keys share 8 bytes, and
    /// entries beyond 4 GiB, are computed again.
    fn enter(&mut self, pack: usize, entries: impl IntoIterator<Item = (Name, u64)>) {
        let Ok(pack) = u32::try_from(pack) else { return };
        for (name, at) in entries {
            if let Ok(at) = u32::try_from(at) {
                self.places.insert(beginning(&name), Spot { pack, at });
            }
        }
    }
}

fn beginning(name: &Name) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| name[at]))
}

#[derive(Debug)]
struct Pack {
    file: Mutex<File>,
    /// `None` for a temporary file.
    path: Option<PathBuf>,
    /// Whether the file says already that it was used.
    used: AtomicBool,
}

/// Where new entries go.
#[derive(Debug, Default)]
struct Writer {
    /// The pack, and where its last entry ends.
    current: Option<(usize, u64)>,
    /// Why the folder can't be written any more.
    failed: Option<io::Error>,
}

impl Store {
    /// Opens the store in `folder`, which is made where it is missing. `build` names the program that
    /// computes: it finds no results of another, since nothing says that they are still right.
    pub fn open(folder: &Path, build: &str) -> io::Result<Self> {
        Self::open_within(folder, build, LIMITS)
    }

    fn open_within(folder: &Path, build: &str, limits: Limits) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        // What can't be cleared away takes space and does no harm.
        let _ = folder::shrink(folder, limits.all);
        Self::of_folder(folder, blake3::hash(build.as_bytes()), limits)
    }

    /// The results of a build in the folder of a part.
    pub(crate) fn part(folder: &Path, build: blake3::Hash) -> io::Result<Self> {
        Self::of_folder(folder, build, LIMITS)
    }

    fn of_folder(folder: &Path, build: blake3::Hash, limits: Limits) -> io::Result<Self> {
        let store = Self::new(Some(folder.to_owned()), build, limits);
        for (_, path) in folder::packs(folder)? {
            // Deleted by another process just now, or not readable for us: its results are missing.
            let _ = store.take(path);
        }
        Ok(store)
    }

    /// Reads the results of a part where this store has none.
    pub(crate) fn read_also(&mut self, part: Self) {
        self.parts.push(part);
    }

    /// Hash of the program whose results it has.
    pub(crate) fn build(&self) -> blake3::Hash {
        self.build
    }

    /// How many files of results a folder has, and their bytes.
    ///
    /// # Errors
    ///
    /// Where the folder can't be read; one that is not there has none.
    pub fn size(folder: &Path) -> io::Result<(usize, u64)> {
        folder::size(folder)
    }

    /// Deletes the results in a folder but for those that a process is writing, and nothing else.
    ///
    /// # Errors
    ///
    /// Where the folder can't be read or a file can't be deleted.
    pub fn clean(folder: &Path) -> io::Result<()> {
        match std::fs::remove_file(folder.join(PART)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        folder::shrink(folder, 0)
    }

    /// A store that lives as long as the value. Its files have no names, so nothing is left of them however
    /// the process ends.
    pub fn temporary() -> io::Result<Self> {
        // Whether there can be files is known here rather than in the middle of a run.
        tempfile::tempfile()?;
        Ok(Self::new(None, blake3::hash(&[]), LIMITS))
    }

    fn new(folder: Option<PathBuf>, build: blake3::Hash, limits: Limits) -> Self {
        Self {
            folder,
            build,
            limits,
            held: RwLock::default(),
            writer: Mutex::default(),
            damaged: AtomicUsize::new(0),
            parts: Vec::new(),
        }
    }

    /// Entries that were not what had been written. They were computed again.
    pub fn damaged(&self) -> usize {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Why results were kept in a temporary file and not in the folder, where that is so.
    pub fn not_kept(&self) -> Option<String> {
        let writer = lock(&self.writer);
        let (folder, error) = (self.folder.as_ref()?, writer.failed.as_ref()?);
        Some(format!("{}: {error}", folder.display()))
    }

    /// The entry, if there is one that can be read.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: Key) -> Option<T> {
        self.own(key).or_else(|| self.parts.iter().find_map(|part| part.own(key)))
    }

    fn own<T: DeserializeOwned>(&self, key: Key) -> Option<T> {
        let name = self.name(key);
        let (pack, at) = {
            let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
            let Spot { pack, at } = held.places.get(beginning(&name))?;
            (Arc::clone(held.packs.get(pack as usize)?), at.into())
        };
        let mut file = lock(&pack.file);
        if !pack.used.swap(true, Ordering::Relaxed) {
            // By this, packs are told apart when there are too many. It is no reason to do without an entry.
            let _ = file.set_modified(SystemTime::now());
        }
        let read = pack::read(&mut file, at, &name);
        drop(file);
        let wrong = || io::Error::from(io::ErrorKind::InvalidData);
        match read.and_then(|bytes| postcard::from_bytes(&bytes).map_err(|_| wrong())) {
            Ok(value) => Some(value),
            Err(error) => {
                let damaged = usize::from(error.kind() == io::ErrorKind::InvalidData);
                self.damaged.fetch_add(damaged, Ordering::Relaxed);
                None
            }
        }
    }

    /// Writes an entry. An error means that neither the folder nor a temporary file takes it.
    pub(crate) fn put<T: Serialize>(&self, key: Key, value: &T) -> io::Result<()> {
        let content = postcard::to_stdvec(value).map_err(io::Error::other)?;
        let name = self.name(key);
        let entry = pack::entry(name, &content);
        let mut writer = lock(&self.writer);
        let (pack, at) = match self.append(&mut writer, &entry) {
            Err(error) if self.folder.is_some() && writer.failed.is_none() => {
                *writer = Writer { current: None, failed: Some(error) };
                self.append(&mut writer, &entry)?
            }
            appended => appended?,
        };
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.enter(pack, [(name, at)]);
        Ok(())
    }

    fn append(&self, writer: &mut Writer, entry: &[u8]) -> io::Result<(usize, u64)> {
        let full = |end: u64| end > 0 && end.saturating_add(entry.len() as u64) > self.limits.pack;
        let (at, end) = match writer.current {
            Some((at, end)) if !full(end) => (at, end),
            current => {
                if let Some((at, _)) = current {
                    self.close(at);
                }
                writer.current = None;
                self.next(writer.failed.is_some(), full)?
            }
        };
        writer.current = Some((at, end));
        let pack = self.pack(at);
        let (place, end) = pack::append(&mut lock(&pack.file), end, entry)?;
        writer.current = Some((at, end));
        Ok((at, place))
    }

    /// A pack to write into, held locked, and where its last entry ends.
    fn next(&self, temporary: bool, full: impl Fn(u64) -> bool) -> io::Result<(usize, u64)> {
        let Some(folder) = self.folder.as_deref().filter(|_| !temporary) else {
            return Ok((self.hold(None, tempfile::tempfile()?), 0));
        };
        for (_, path) in folder::packs(folder)?.into_iter().rev() {
            let Some(mut file) = folder::lock(&path) else { continue };
            if !full(file.metadata()?.len())
                && let Some(scan) = pack::scan(&mut file)?
                && !scan.damaged
            {
                // What another process did not finish.
                file.set_len(scan.end)?;
                return Ok((self.hold(Some(path), file), scan.end));
            }
        }
        let (path, file) = folder::begin(folder)?;
        Ok((self.hold(Some(path), file), 0))
    }

    /// Reads a pack of the folder. One that is damaged is cut where the damage begins, so that it is counted
    /// once.
    fn take(&self, path: PathBuf) -> io::Result<()> {
        let mut file = File::open(&path)?;
        let Some(mut scan) = pack::scan(&mut file)? else { return Ok(()) };
        if scan.damaged
            && let Some(mut locked) = folder::lock(&path)
            // Checked again, now that no process writes it.
            && let Some(again) = pack::scan(&mut locked)?
        {
            if again.damaged {
                locked.set_len(again.end)?;
                self.damaged.fetch_add(1, Ordering::Relaxed);
            }
            scan = again;
        }
        let at = self.hold(Some(path), file);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.enter(at, scan.entries);
        Ok(())
    }

    /// Takes an open file in the place of one of the same path: a system may refuse to read what is locked
    /// through another handle.
    fn hold(&self, path: Option<PathBuf>, file: File) -> usize {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let known = held.packs.iter().position(|pack| path.is_some() && pack.path == path);
        if let Some(at) = known {
            *lock(&held.packs[at].file) = file;
            return at;
        }
        held.packs.push(Arc::new(Pack {
            file: Mutex::new(file),
            path,
            used: AtomicBool::default(),
        }));
        held.packs.len() - 1
    }

    fn pack(&self, at: usize) -> Arc<Pack> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&held.packs[at])
    }

    /// Brings a pack to the disk and lets others write it. What does not get there is found damaged.
    fn close(&self, at: usize) {
        let pack = self.pack(at);
        if pack.path.is_some() {
            let file = lock(&pack.file);
            let _ = file.sync_data();
            let _ = file.unlock();
        }
    }

    fn name(&self, key: Key) -> Name {
        *blake3::keyed_hash(self.build.as_bytes(), key.as_bytes()).as_bytes()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some((at, _)) = lock(&self.writer).current {
            self.close(at);
        }
        if let Some(folder) = &self.folder {
            let _ = folder::shrink(folder, self.limits.all);
        }
    }
}

/// A panic of another thread left nothing half: what is written counts only when it is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
