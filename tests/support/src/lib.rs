//! What the tests of this workspace share and nobody else needs: tables of rows, acts on a view, what is logged, long
//! runs of characters, processor time, deadlines, where recorded sessions lie, and the outlines of some of them. What authors of strategies need too is in `foldback-testkit`.

pub mod act;
pub mod cpu;
pub mod deadline;
pub mod outline;
pub mod presets;
pub mod runs;
pub mod table;
pub mod trace;

use std::io::BufRead;
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

/// The address that a proxy says on standard error when it listens.
///
/// # Panics
///
/// If it ends before.
pub fn proxy_address(said: &mut impl BufRead) -> String {
    let mut line = String::new();
    while !line.contains("http://") {
        line.clear();
        let read = said.read_line(&mut line).unwrap_or_default();
        assert!(read > 0, "the proxy ended");
    }
    let address = line.split("http://").nth(1).and_then(|rest| rest.split(';').next());
    address.unwrap_or_default().to_owned()
}
