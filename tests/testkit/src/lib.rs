//! What the tests of all crates share: where recorded sessions lie, and the outlines of some of them.

pub mod outline;

/// Stands above the `#[test]` of whatever reads [`sessions`].
pub use foldback_testkit_macros::needs_sessions;

use std::path::PathBuf;

/// The folder of recorded sessions beside the project; they are no part of it.
pub fn sessions() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sessions")
}
