//! The sessions of a comparison: where they come from, read one file at a time.
//!
//! A corpus holds names, not sessions. A session is read when its turn comes and dropped when every
//! preset has replayed it, so memory is bounded by the largest files in flight.

use super::history::{self, Copied};
use foldback_formats::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// One place that sessions come from.
#[derive(Debug)]
pub enum Source {
    /// A file in any format.
    File(PathBuf),
    /// What has calls that another of the corpus holds; they [count there](crate::read::copies).
    Copying {
        /// What it is without that.
        source: Box<Source>,
        /// The calls.
        copied: Copied,
    },
    /// Bytes that are somewhere else, under a name.
    Elsewhere {
        /// What reports call them.
        name: String,
        /// Gets them.
        fetch: Fetch,
    },
    /// Sessions that are in memory already, under a name.
    Memory {
        /// What reports call them.
        name: String,
        /// The sessions.
        sessions: Vec<Session>,
    },
    /// A file whose results are known, from a [part](crate::rows::parts).
    Scored {
        /// The path of the file on the machine that scored it.
        path: PathBuf,
        /// Hash of its bytes.
        hash: blake3::Hash,
        /// Why it can't be used, if it can't.
        failed: Option<String>,
    },
    /// What was found and can't be read: a folder that is closed, a device.
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// Why it can't be read.
        reason: String,
    },
}

/// Gets the bytes of a source, each time that they are read.
pub struct Fetch(pub Box<dyn Fn() -> Result<Vec<u8>, Failure> + Send + Sync>);

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetch")
    }
}

/// Why a source could not be read or studied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It can't be used, and the others can.
    Source(String),
    /// It can't be reached, nor may others be: what is left would be the result of other sessions.
    Unreached(String),
    /// What was found out can't be kept.
    Store(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Source(reason)
    }
}

/// A file that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Path of the file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Hash of a source's content.
pub(crate) type ContentHash = blake3::Hash;

/// What a source held when it was read.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) hash: ContentHash,
    /// Those that have something in their log.
    pub(crate) sessions: Vec<Session>,
}

impl Source {
    /// What reports call it: the path as it was given.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Scored { path, .. } | Self::Unreadable { path, .. } => {
                path.display().to_string()
            }
            Self::Copying { source, .. } => source.name(),
            Self::Elsewhere { name, .. } | Self::Memory { name, .. } => name.clone(),
        }
    }

    /// The path of a file that is there to be read.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Copying { source, .. } => source.path(),
            _ => None,
        }
    }

    /// The bytes of what is not in memory. The error says why they can't be read.
    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Copying { source, .. } => source.bytes(),
            Self::File(path) | Self::Scored { path, failed: None, .. } => {
                foldback_formats::read_file(path).map_err(|error| error.to_string().into())
            }
            Self::Elsewhere { fetch, .. } => (fetch.0)(),
            Self::Scored { failed: Some(reason), .. } | Self::Unreadable { reason, .. } => {
                Err(reason.clone().into())
            }
            Self::Memory { .. } => Err("is in memory".to_owned().into()),
        }
    }

    /// Hash of bytes of the source, with what of them counts elsewhere.
    fn hash_of(&self, bytes: &[u8]) -> ContentHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytes);
        if let Self::Copying { copied, .. } = self {
            hasher.update(format!("{copied:?}").as_bytes());
        }
        hasher.finalize()
    }

    /// Hash of its content: the bytes of a file, the messages of what is in memory. The error says why
    /// it can't be read.
    pub(crate) fn hash(&self) -> Result<ContentHash, Failure> {
        match self {
            Self::File(_)
            | Self::Copying { .. }
            | Self::Elsewhere { .. }
            | Self::Unreadable { .. } => Ok(self.hash_of(&self.bytes()?)),
            Self::Memory { sessions, .. } => {
                let mut hasher = blake3::Hasher::new();
                for session in sessions {
                    hasher.update(session.id.as_bytes());
                    let messages = serde_json::to_vec(&session.messages);
                    hasher.update(&messages.map_err(|error| error.to_string())?);
                    hasher
                        .update(format!("{:?}{:?}", session.frame, session.boundaries).as_bytes());
                }
                Ok(hasher.finalize())
            }
            Self::Scored { hash, .. } => Ok(*hash),
        }
    }

    /// Reads it once: what its sessions are hashed from is what they are parsed from, also where an agent is
    /// still writing the file.
    pub(crate) fn read(&self) -> Result<Content, Failure> {
        let (hash, mut sessions) = match self {
            Self::Memory { sessions, .. } => (self.hash()?, sessions.clone()),
            _ => {
                let bytes = self.bytes()?;
                let sessions = foldback_formats::read(&bytes, None);
                (self.hash_of(&bytes), sessions.map_err(|error| error.to_string())?)
            }
        };
        sessions.retain(|session| session.log().next().is_some());
        history::counted_once(&mut sessions);
        if let Self::Copying { copied, .. } = self {
            history::take_out(&mut sessions, copied);
        }
        Ok(Content { hash, sessions })
    }

    /// Reads the sessions that have something in their log.
    ///
    /// # Errors
    ///
    /// It can't be read.
    pub fn sessions(&self) -> Result<Vec<Session>, Failure> {
        Ok(self.read()?.sessions)
    }

    /// Path of one of its sessions: with `#id` after it if there are several.
    pub fn path_of(&self, id: &str, many: bool) -> String {
        if many { format!("{}#{id}", self.name()) } else { self.name() }
    }
}

/// What is compared on.
#[derive(Debug, Default)]
pub struct Corpus {
    /// In the order of the paths.
    pub sources: Vec<Source>,
}

impl Corpus {
    /// A corpus of sessions in memory, each a source of its own under its id.
    pub fn from_sessions(sessions: impl IntoIterator<Item = Session>) -> Self {
        Self {
            sources: sessions
                .into_iter()
                .map(|session| Source::Memory { name: session.id.clone(), sessions: vec![session] })
                .collect(),
        }
    }
}
