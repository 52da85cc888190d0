//! The session files of a folder and of the folders below it.
//!
//! A folder may hold anything: links in a loop, pipes, devices, unreadable folders. None of
//! these hangs or ends a run. What looks like a session and can't be read is listed with the reason.

use crate::endings::is_session;
use crate::files::Identity;
use crate::places::Place;
use foldback_replay::Source;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// The sources in a folder, by name. Links are followed; if `only_below` names places, without links of their own, only to
/// what is below these.
pub(crate) fn sources(folder: &Path, only_below: &[PathBuf]) -> Vec<Source> {
    found(folder, only_below, &|_| true)
}

/// The sessions that an agent keeps in a place; links are followed as in any folder.
pub(crate) fn sources_of(place: &Place, only_below: &[PathBuf]) -> Vec<Source> {
    found(&place.path, only_below, &|path| place.holds(path))
}

/// Whether a path without links is below one of these places.
pub(crate) fn is_below(path: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

/// The files that may be read and are wanted.
fn found(folder: &Path, only_below: &[PathBuf], wanted: &dyn Fn(&Path) -> bool) -> Vec<Source> {
    let is_session = |path: &Path| is_session(path) && wanted(path);
    // A folder that several links lead to is read once: a few links can make more paths than anybody could walk.
    let mut seen = HashSet::new();
    let mut is_new = move |entry: &DirEntry| {
        !entry.file_type().is_dir()
            // Resolving its path instead would cost the square of its depth.
            || Identity::from_path(entry.path()).is_none_or(|folder| seen.insert(folder))
    };
    // Everything below a permitted folder is permitted; only a link can lead out of it.
    let may = |entry: &DirEntry| {
        (entry.depth() > 0 && !entry.path_is_symlink())
            || only_below.is_empty()
            || entry.path().canonicalize().is_ok_and(|path| is_below(&path, only_below))
    };
    let out_of_it = |path: &Path| {
        let reason = "a link leads out of what may be read".to_owned();
        Source::Unreadable { path: path.to_owned(), reason }
    };
    let entries = WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter();
    entries
        .filter_entry(move |entry| {
            // A link that leads out of it is not followed.
            (!entry.file_type().is_dir() || may(entry)) && is_new(entry)
        })
        .filter_map(|found| match found {
            Ok(entry) if entry.file_type().is_dir() || !is_session(entry.path()) => None,
            // It is read with the file that stands for its session.
            Ok(entry) if foldback_formats::is_piece(entry.path()) => None,
            Ok(entry) if !may(&entry) => Some(out_of_it(entry.path())),
            Ok(entry) if entry.file_type().is_file() => Some(Source::File(entry.into_path())),
            Ok(entry) => {
                let reason = "neither a file nor a folder".to_owned();
                Some(Source::Unreadable { path: entry.into_path(), reason })
            }
            Err(error) => unreadable(folder, &error),
        })
        .collect()
}

/// A file that could not be read, if it matters. Links in a loop and dangling links matter only with the name of a
/// session.
fn unreadable(folder: &Path, error: &walkdir::Error) -> Option<Source> {
    let path = error.path().unwrap_or(folder);
    let reason = error.io_error()?;
    let lost = reason.kind() != io::ErrorKind::NotFound || is_session(path);
    lost.then(|| Source::Unreadable { path: path.to_owned(), reason: reason.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_test_support::cpu::{cost, spent};

    /// The system looks a path up from its beginning, so that a chain of folders costs the square of its depth. It cost the
    /// cube when every folder was resolved as well.
    #[test]
    fn a_folder_that_is_twice_as_deep_is_at_most_five_times_the_work() {
        if spent().is_none() {
            return;
        }
        let deep = |depth: usize| {
            let root = tempfile::tempdir().unwrap();
            let bottom = root.path().join(vec!["d"; depth].join("/"));
            std::fs::create_dir_all(&bottom).unwrap();
            std::fs::write(bottom.join("s.json"), "{}").unwrap();
            root
        };
        let walking = |root: &Path| {
            let walk = || {
                let below = root.canonicalize().unwrap();
                assert_eq!(sources(root, &[below]).len(), 1);
            };
            cost(&walk, 20_000_000).unwrap()
        };
        let (small, large) = (deep(100), deep(800));
        let ratios = (0..4).map(|_| walking(large.path()) / walking(small.path()));
        let least = ratios.fold(f64::INFINITY, f64::min);
        assert!(least <= 5_f64.powi(3), "{least:.1} times the work");
    }
}
