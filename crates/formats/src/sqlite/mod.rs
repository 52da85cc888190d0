//! The SQLite stores in which agents keep all sessions of a user.
//!
//! Every session is put into the document that the agent's own export prints for it and read as that, so that what comes
//! out are sessions of that format. A store on a disk is read where it lies, and nothing is written: no journal or schema of a
//! running agent is touched, and no copy is made. Behind the feature `sqlite`.

#[cfg(feature = "sqlite")]
pub(crate) mod crush;
#[cfg(feature = "sqlite")]
pub(crate) mod cursor;
#[cfg(feature = "sqlite")]
pub(crate) mod goose;
#[cfg(feature = "sqlite")]
pub(crate) mod hermes;
#[cfg(feature = "sqlite")]
pub(crate) mod opencode;
#[cfg(feature = "sqlite")]
pub(crate) mod store;
#[cfg(feature = "sqlite")]
mod wal;

use crate::format::FormatId;

/// Ids under which a store may be asked for.
pub(crate) const IDS: &[FormatId] = &["sqlite", "opencode", "goose", "crush", "hermes", "cursor"];

/// How a store begins.
pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// How the documents of a store begin, as [`store::packed`] gives them.
#[cfg(feature = "sqlite")]
pub(crate) const PACKED: &[u8] = b"foldback documents\0";

#[cfg(not(feature = "sqlite"))]
pub(crate) fn read(_: &[u8]) -> crate::format::Attempt {
    Some(Err(crate::value::malformed(
        "the file",
        "an SQLite database; agents' stores are read by a build with the feature `sqlite`, or export a session \
         (`opencode export`, `goose session export`, `crush session show --json`, `hermes sessions export`)",
    )))
}
