//! What the tests of all crates share: tables of rows, stand-ins for what a strategy is given, what is
//! asked of a conversation and what is logged, where recorded sessions lie, and the outlines of some of them.

pub mod act;
pub mod outline;
pub mod stand_in;
pub mod table;
pub mod talk;
pub mod trace;

/// Stand above the `#[test]` of whatever reads [`sessions`] or runs `tests/judge`.
pub use foldback_testkit_macros::{needs_judge, needs_sessions};

use std::path::PathBuf;

/// The folder of recorded sessions beside the project; they are no part of it.
pub fn sessions() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sessions")
}

/// The recorded sessions of one recorder, by name.
///
/// # Panics
///
/// If there are none.
pub fn sessions_of(recorder: &str) -> Vec<PathBuf> {
    let folder = sessions().join(recorder);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
