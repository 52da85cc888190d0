//! Where results of finished replays are kept.

use crate::args::StoreArgs;
use crate::error::Error;
use foldback_replay::Store;
use std::path::{Path, PathBuf};

/// The store in the folder that was named, else in the user's cache folder; one that is gone in the end where
/// results are not to be kept or nothing says where.
pub(crate) fn open(args: &StoreArgs, keep_none: bool) -> Result<Store, Error> {
    let fail = |path: &Path, error| Error::File { path: path.to_owned(), error };
    let usual = usual_place();
    let folder = args.store.as_deref().or(usual.as_deref());
    let folder = folder.filter(|_| !keep_none && !args.no_store);
    match folder {
        Some(folder) => Store::open(folder, &build()).map_err(|error| fail(folder, error)),
        None => Store::temporary().map_err(|error| fail(&std::env::temp_dir(), error)),
    }
}

fn usual_place() -> Option<PathBuf> {
    let given = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let cache = given("XDG_CACHE_HOME")
        .or_else(|| given("LOCALAPPDATA"))
        .or_else(|| Some(given("HOME")?.join(".cache")))?;
    Some(cache.join("foldback"))
}

/// Names this program: results of another build may be other results.
fn build() -> String {
    let program = std::env::current_exe().and_then(std::fs::read);
    program.map_or_else(
        |_| env!("CARGO_PKG_VERSION").to_owned(),
        |bytes| blake3::hash(&bytes).to_hex().to_string(),
    )
}
