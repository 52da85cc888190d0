//! A conversation that survives the end of its process: a file to which everything that happened is
//! appended, and from which the same view comes back.
//!
//! Each line is a JSON list of what happened together (messages, folds with their plans, undos, pins) and
//! counts as a whole or not at all. A line that was not finished when the process died is dropped, so a
//! fold either happened or did not. Lines with a fold or an undo are on the disk before
//! [`Journal::record`] returns; lines of messages alone are left to the operating system, as they can
//! be asked for again.
//!
//! ```no_run
//! # use foldback_core::conversation::Conversation;
//! # use foldback_live::journal::{Journal, JournalError};
//! # fn run(mut conversation: Conversation) -> Result<(), JournalError> {
//! let mut journal = Journal::open("session.foldback.jsonl", &mut conversation)?;
//! // … append, fold, undo; then, as often as you like:
//! journal.record(&conversation)?;
//! # Ok(())
//! # }
//! ```
//!
//! What is not written: the strategy, the limits, the frame, the model, and whether automatic compaction
//! is switched on, which are the caller's to set up again. Plans are replayed, not made again, so another
//! strategy may go on with the journal. A breaker that was open is closed.

mod happened;

use foldback_core::conversation::Conversation;
use foldback_core::plan::Layout;
use happened::{Happened, Known, replay};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Version of the format; in the first line.
pub const VERSION: u32 = 1;

/// Why a journal can't be read or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file system said no.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// A line that is not the last can't be read.
    #[error("{}:{line}: {message}; what comes before it is whole: cut the file there to go on without the rest", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The file has something in it, and so has the conversation.
    #[error("{}: holds a conversation already; open it with an empty one", path.display())]
    NotEmpty {
        /// The file.
        path: PathBuf,
    },
    /// The conversation was folded before it had a journal.
    #[error("{}: the conversation has folds already; open the journal before the first", path.display())]
    TooLate {
        /// The file.
        path: PathBuf,
    },
    /// Another process has it open.
    #[error("{}: is in use by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    foldback_journal: u32,
}

/// The file behind a conversation.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Bytes of the file that are whole lines.
    written: u64,
    /// What the file knows of the conversation.
    known: Known,
}

impl Journal {
    /// Opens a journal, or begins one. What it holds is replayed into the conversation, which must be
    /// empty then; what the conversation holds is written into a new one.
    ///
    /// # Errors
    ///
    /// Where the file can't be read, or is in use, or a line before the last is damaged. The
    /// conversation is then as far as the file is whole.
    pub fn open(
        path: impl AsRef<Path>,
        conversation: &mut Conversation,
    ) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let io = |error| JournalError::Io { path: path.clone(), error };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked { path }),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        let mut journal = Self { file, path, written: whole as u64, known: Known::default() };
        if whole == 0 {
            if !conversation.folds().is_empty() {
                return Err(JournalError::TooLate { path: journal.path });
            }
            journal.begin(conversation)?;
        } else {
            if !conversation.history().is_empty() {
                return Err(JournalError::NotEmpty { path: journal.path });
            }
            journal.read(&bytes, conversation)?;
            journal.repair()?;
            journal.known = Known::of(conversation);
        }
        Ok(journal)
    }

    /// Writes what happened since the last time. Does nothing where nothing did.
    ///
    /// # Errors
    ///
    /// Where the file can't be written. Nothing counts as written then, and the next call tries again.
    pub fn record(&mut self, conversation: &Conversation) -> Result<(), JournalError> {
        let mut known = self.known.clone();
        let happened = known.take(conversation);
        if happened.is_empty() {
            return Ok(());
        }
        let durable = happened.iter().any(|what| !matches!(what, Happened::Message(_)));
        self.write(&happened, durable)?;
        self.known = known;
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn begin(&mut self, conversation: &Conversation) -> Result<(), JournalError> {
        self.write(&Header { foldback_journal: VERSION }, true)?;
        let mut happened = self.known.take(conversation);
        let view = conversation.view();
        happened.extend(view.edits().iter().map(|(part, edit)| Happened::Mark {
            part: *part,
            text: Arc::clone(&edit.text),
            at: edit.at,
        }));
        if *view.layout() != Layout::default() {
            happened.push(Happened::Restored);
        }
        if !happened.is_empty() {
            self.write(&happened, true)?;
        }
        // The name of a new file is in its folder.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // Some systems can't open folders; the content is safe there all the same.
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().ok();
        }
        Ok(())
    }

    /// Appends one line.
    fn write(&mut self, line: &impl Serialize, durable: bool) -> Result<(), JournalError> {
        let appended = self.append(line, durable);
        appended.map_err(|error| JournalError::Io { path: self.path.clone(), error })
    }

    fn append(&mut self, line: &impl Serialize, durable: bool) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        // A line that could not be finished the last time is written over.
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(&bytes)?;
        let end = self.written + bytes.len() as u64;
        self.file.set_len(end)?;
        if durable {
            self.file.sync_data()?;
        }
        self.written = end;
        Ok(())
    }

    /// Takes a line off that was not finished.
    fn repair(&mut self) -> Result<(), JournalError> {
        let cut = self.file.set_len(self.written).and_then(|()| self.file.sync_data());
        cut.map_err(|error| JournalError::Io { path: self.path.clone(), error })
    }

    fn read(&self, bytes: &[u8], conversation: &mut Conversation) -> Result<(), JournalError> {
        let damaged = |line: usize, message: String| JournalError::Damaged {
            path: self.path.clone(),
            line,
            message,
        };
        for (line, text) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let text = text.trim_ascii_end();
            if line == 1 {
                let header: Header = serde_json::from_slice(text).map_err(|error| {
                    damaged(line, format!("is no journal of foldback ({error})"))
                })?;
                if header.foldback_journal != VERSION {
                    let theirs = header.foldback_journal;
                    let message = format!("has version {theirs}, and only {VERSION} can be read");
                    return Err(damaged(line, message));
                }
                continue;
            }
            let happened: Vec<Happened> = serde_json::from_slice(text)
                .map_err(|error| damaged(line, format!("can't be read ({error})")))?;
            for what in happened {
                replay(conversation, what).map_err(|error| damaged(line, error.to_string()))?;
            }
        }
        Ok(())
    }
}
