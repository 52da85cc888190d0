//! The store for results of finished replays.

use crate::args::StoreArgs;
use crate::error::Error;
use crate::{notes, places};
use foldback_replay::Store;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The value of `--store` for results that are not stored.
const NOWHERE: &str = "none";

/// The folder that `--store` names.
pub(crate) fn named(args: &StoreArgs) -> Option<&Path> {
    args.store.as_deref().filter(|folder| *folder != Path::new(NOWHERE))
}

/// The store of a run in the given folder, else in the user's cache folder; a temporary one if results are not stored, no
/// folder is known, or the cache folder can't be created. `keep_none` is for results that involve a model, which are not
/// stored: they depend on its answers, which a cassette keeps, and replaying those takes no longer than without a model.
pub(crate) fn store(args: &StoreArgs, keep_none: bool) -> Result<Store, Error> {
    if keep_none && named(args).is_some() {
        notes::note("note: these results are not kept in --store");
    }
    let fail = |path: &Path, error| Error::File { path: path.to_owned(), error };
    let none = args.store.is_some() && named(args).is_none();
    if !keep_none && !none {
        if let Some(folder) = named(args) {
            return Store::open(folder, &build()).map_err(|error| fail(folder, error));
        }
        if let Some(folder) = usual_place() {
            match make_private(&folder).and_then(|()| Store::open(&folder, &build())) {
                Ok(store) => return Ok(store),
                // The user did not choose this folder, so a failure does not end the run.
                Err(error) => not_kept(&format!("{}: {error}", folder.display())),
            }
        }
    }
    Store::temporary().map_err(|error| fail(&std::env::temp_dir(), error))
}

/// Reports on the store after a run.
pub(crate) fn tell(store: &Store) {
    match store.damaged() {
        0 => {}
        1 => notes::note("note: 1 stored result was damaged and is computed again"),
        more => notes::note(format_args!(
            "note: {more} stored results were damaged and are computed again"
        )),
    }
    if let Some(why) = store.not_kept() {
        not_kept(&why);
    }
}

fn not_kept(why: &str) {
    notes::note(format_args!(
        "note: results are not stored for the next run ({why}); choose another folder with --store DIR"
    ));
}

/// The given folder, else the one in the user's cache folder.
pub(crate) fn folder(store: Option<&Path>) -> Result<PathBuf, Error> {
    let place = store.map(Path::to_owned).or_else(usual_place);
    place.ok_or_else(|| Error::usage("the user's cache folder is unknown; name one with --store"))
}

fn usual_place() -> Option<PathBuf> {
    own_folder("XDG_CACHE_HOME", ".cache")
}

/// The folder in which foldback remembers what it wrote.
pub(crate) fn state() -> Option<PathBuf> {
    own_folder("XDG_STATE_HOME", ".local/state")
}

fn own_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let folder = places::absolute(variable)
        .or_else(|| places::absolute("LOCALAPPDATA"))
        .or_else(|| Some(places::home_here()?.join(below_home)))?;
    Some(folder.join("foldback"))
}

/// Makes a folder for what foldback keeps of a user's sessions by itself: nobody else looks into it.
pub(crate) fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// The file that holds the command where that is not the program that runs.
static LIBRARY: OnceLock<PathBuf> = OnceLock::new();

/// Results belong to this library from now on.
pub(crate) fn belong_to(library: PathBuf) {
    // A second call names the same file: a process has this library once.
    let _ = LIBRARY.set(library);
}

/// Identifies this program: results of another build may differ.
fn build() -> String {
    let program = LIBRARY.get().cloned().map_or_else(std::env::current_exe, Ok);
    let hashed = program.and_then(std::fs::File::open).and_then(|file| {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        Ok(hasher.finalize().to_hex().to_string())
    });
    hashed.unwrap_or_else(|_| env!("CARGO_PKG_VERSION").to_owned())
}
