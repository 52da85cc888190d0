//! A conversation that survives its process: a file to which everything that happened is appended, and from which the
//! same view is restored.
//!
//! Each line is a JSON object with a list of what happened together (messages, folds with their plans, undos,
//! pins) and counts as a whole or not at all. Lines are numbered and carry a checksum, so that one that is
//! missing, doubled or swapped is found. A line that was not finished when the process died is dropped, so a
//! fold either happened or did not. Lines with a fold or an undo are on disk before
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
//! strategy may continue the journal. A breaker that was open is closed.

mod happened;
mod line;

pub use line::VERSION;

use foldback_core::conversation::Conversation;
use foldback_core::plan::Layout;
use happened::{Happened, RecordedState, replay};
use line::{Foreign, Lines, is_begun};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

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
    #[error("{}:{line}: {message}; everything before it is intact: cut the file there to continue without the rest", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The file is something else.
    #[error("{}:1: is not a foldback journal ({message}); name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with its first line.
        message: String,
    },
    /// The journal is of a version that can't be read.
    #[error("{}:1: has version {version}, and only {VERSION} can be read; use the program that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
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

/// The file behind a conversation.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Bytes of the file that are whole lines.
    written: u64,
    /// What the next line is checked by.
    lines: Lines,
    /// What the file knows of the conversation.
    known: RecordedState,
}

impl Drop for Journal {
    /// Closing the file is not enough: a process that is being started has it, too, until it runs its own program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// How a journal's file is opened. It holds a conversation, so it is its owner's alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// How far a journal was.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    written: u64,
    lines: Lines,
    known: RecordedState,
}

impl Journal {
    /// Opens a journal, or begins one. What it holds is replayed into the conversation, which must be
    /// empty then; what the conversation holds is written into a new one.
    ///
    /// # Errors
    ///
    /// If the file can't be read, is in use or is not a journal, or a line before the last is damaged. The
    /// conversation is then as far as the file is whole, and the file as it was.
    pub fn open(
        path: impl AsRef<Path>,
        conversation: &mut Conversation,
    ) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        let io = |error| JournalError::Io { path: path.clone(), error };
        let mut file = private().truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked { path }),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole == 0 {
            if !is_begun(&bytes) {
                return Err(JournalError::Foreign {
                    path,
                    message: "it has no complete line".to_owned(),
                });
            }
            if !conversation.folds().is_empty() {
                return Err(JournalError::TooLate { path });
            }
            return Self::begin(file, path, conversation);
        }
        bytes.truncate(whole);
        if !conversation.history().is_empty() {
            return Err(JournalError::NotEmpty { path });
        }
        let lines = read(&path, &bytes, conversation)?;
        let known = RecordedState::new(conversation);
        let mut journal = Self { file, path, written: whole as u64, lines, known };
        journal.repair()?;
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

    /// How far it is, to [go back](Self::go_back) to.
    pub(crate) fn point(&self) -> Point {
        let Self { written, lines, known, .. } = self;
        Point { written: *written, lines: lines.clone(), known: known.clone() }
    }

    /// Forgets what was written since, for a conversation that went on otherwise. The file is another one then: whenever
    /// the process dies, there is the one or the other.
    ///
    /// # Errors
    ///
    /// The other file can't be written. The journal is as it was.
    pub(crate) fn go_back(&mut self, point: Point) -> Result<(), JournalError> {
        if point.written == self.written {
            return Ok(());
        }
        let mut beside = self.path.clone().into_os_string();
        beside.push(".back");
        let beside = PathBuf::from(beside);
        let copied = self.copied(&beside, point.written);
        let file = copied.map_err(|error| JournalError::Io { path: beside, error })?;
        let Point { written, lines, known } = point;
        (self.file, self.written, self.lines, self.known) = (file, written, lines, known);
        Ok(())
    }

    /// Puts a copy of the file's beginning in its place.
    fn copied(&self, beside: &Path, bytes: u64) -> io::Result<File> {
        let mut file = private().truncate(true).open(beside)?;
        file.lock()?;
        io::copy(&mut File::open(&self.path)?.take(bytes), &mut file)?;
        file.sync_data()?;
        std::fs::rename(beside, &self.path)?;
        Ok(file)
    }

    fn begin(file: File, path: PathBuf, conversation: &Conversation) -> Result<Self, JournalError> {
        let io = |path: &Path, error: io::Error| JournalError::Io { path: path.to_owned(), error };
        let (lines, head) = Lines::begin().map_err(|error| io(&path, error.into()))?;
        let mut journal = Self { file, path, written: 0, lines, known: RecordedState::default() };
        journal.append(head, true).map_err(|error| io(&journal.path, error))?;
        let mut happened = journal.known.take(conversation);
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
            journal.write(&happened, true)?;
        }
        // The name of a new file is in its folder.
        let folder = journal.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // Some systems can't open folders; the content is safe there anyway.
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().ok();
        }
        Ok(journal)
    }

    /// Appends a line of what happened.
    fn write(&mut self, happened: &[Happened], durable: bool) -> Result<(), JournalError> {
        let mut lines = self.lines.clone();
        let line = lines.line(happened).map_err(io::Error::from);
        let appended = line.and_then(|line| self.append(line, durable));
        appended.map_err(|error| JournalError::Io { path: self.path.clone(), error })?;
        self.lines = lines;
        Ok(())
    }

    fn append(&mut self, mut bytes: Vec<u8>, durable: bool) -> io::Result<()> {
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
}

/// Lets what whole lines tell happen again.
fn read(path: &Path, bytes: &[u8], conversation: &mut Conversation) -> Result<Lines, JournalError> {
    let path = || path.to_owned();
    let mut texts = (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n'));
    let head = texts.next().map_or(&[][..], |(_, text)| text);
    let mut lines = Lines::read_head(head).map_err(|foreign| match foreign {
        Foreign::Other(message) => JournalError::Foreign { path: path(), message },
        Foreign::Version(version) => JournalError::Version { path: path(), version },
    })?;
    for (line, text) in texts {
        let damaged = |message| JournalError::Damaged { path: path(), line, message };
        for what in lines.read(text.trim_ascii_end()).map_err(damaged)? {
            replay(conversation, what).map_err(|error| damaged(error.to_string()))?;
        }
    }
    Ok(lines)
}
