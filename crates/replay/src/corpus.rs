//! The sessions of a comparison: where they come from, read one file at a time.
//!
//! A corpus holds names, not sessions. A session is read when its turn comes and dropped when every
//! preset has replayed it, so memory is bounded by the largest files in flight.

use foldback_formats::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One place that sessions come from.
#[derive(Debug)]
pub enum Source {
    /// A file in any format.
    File(PathBuf),
    /// Sessions that are in memory already, under a name.
    Memory {
        /// What reports call them.
        name: String,
        /// The sessions.
        sessions: Vec<Session>,
    },
    /// A file whose results are known, from a [part](crate::scores).
    Scored {
        /// Its path where it was scored.
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
            Self::Memory { name, .. } => name.clone(),
        }
    }

    /// Hash of its content: the bytes of a file, the messages of what is in memory. The error says why
    /// it can't be read.
    pub(crate) fn hash(&self) -> Result<ContentHash, String> {
        match self {
            Self::File(path) => {
                let bytes =
                    foldback_formats::limit::read_file(path).map_err(|error| error.to_string())?;
                Ok(blake3::hash(&bytes))
            }
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
            Self::Unreadable { reason, .. } => Err(reason.clone()),
        }
    }

    /// Reads it once: what its sessions are hashed from is what they are parsed from, also where an agent is
    /// still writing the file.
    pub(crate) fn read(&self) -> Result<Content, String> {
        let (hash, mut sessions) = match self {
            Self::Scored { failed: Some(reason), .. } => return Err(reason.clone()),
            Self::File(path) | Self::Scored { path, .. } => {
                let bytes =
                    foldback_formats::limit::read_file(path).map_err(|error| error.to_string())?;
                let sessions = foldback_formats::read(&bytes, None);
                (blake3::hash(&bytes), sessions.map_err(|error| error.to_string())?)
            }
            Self::Memory { sessions, .. } => (self.hash()?, sessions.clone()),
            Self::Unreadable { reason, .. } => return Err(reason.clone()),
        };
        sessions.retain(|session| session.log().next().is_some());
        Ok(Content { hash, sessions })
    }

    /// Reads the sessions that have something in their log.
    pub fn sessions(&self) -> Result<Vec<Session>, String> {
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
    pub fn of(sessions: impl IntoIterator<Item = Session>) -> Self {
        Self {
            sources: sessions
                .into_iter()
                .map(|session| Source::Memory { name: session.id.clone(), sessions: vec![session] })
                .collect(),
        }
    }
}
