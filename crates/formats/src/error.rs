//! Why a file could not be read or written at all.

use foldback_providers::wire::shared::rewrite::Stale;
use thiserror::Error;

/// A file that holds no session that could be used.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// Not text.
    #[error("not a text file: byte {offset} is not UTF-8; sessions are JSON or JSON lines")]
    Binary {
        /// Offset of the first bad byte.
        offset: usize,
    },
    /// No importer recognizes it.
    #[error(
        "none of the known formats; if it is one of them, name it with --from (`--from help` lists them); where a command \
         has no --from, `foldback convert --from` reads it"
    )]
    UnknownFormat,
    /// An id that no format has.
    #[error("there is no format `{id}`{nearest}; known are {known}")]
    NoSuchFormat {
        /// What was asked for.
        id: String,
        /// A suggestion, or nothing.
        nearest: String,
        /// The ids of all formats.
        known: String,
    },
    /// It is of the format but cannot be read.
    #[error("{place}: {detail}")]
    Malformed {
        /// Line and column, or JSON pointer.
        place: String,
        /// What was wrong.
        detail: String,
    },
    /// It is of the format and holds no messages.
    #[error("no messages in it")]
    NoMessages,
}

/// A session that a format cannot express.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The format does not hold this.
    #[error("{format} cannot hold this session: {detail}")]
    Unsupported {
        /// Id of the format.
        format: &'static str,
        /// What it cannot hold.
        detail: String,
    },
    /// The format has no writer.
    #[error("the format {format} can only be read; these can be written: {known}")]
    ReadOnly {
        /// Id of the format.
        format: &'static str,
        /// Ids of the formats that can be written.
        known: String,
    },
    /// A file of the format holds one session.
    #[error("a {format} file holds one session, and these are {count}")]
    Several {
        /// Id of the format.
        format: &'static str,
        /// How many there are.
        count: usize,
    },
    /// The format's own reader refuses the written file. Nothing is returned.
    #[error("{format} does not take this session: what was written cannot be read again: {detail}")]
    Unreadable {
        /// Id of the format.
        format: &'static str,
        /// What the reader says.
        detail: String,
    },
    /// The record of a message has changed since it was read.
    #[error(transparent)]
    Record(#[from] Stale),
}
