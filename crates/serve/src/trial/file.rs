//! The file of a trial, which several proxies may write.
//!
//! Whoever writes holds a lock on the file beside it (`FILE.lock`), reads the file, changes its line and puts a whole new file in its
//! place. So a line is never torn and never doubled, and a proxy that is killed loses at most the answer that it was about to write.

use crate::fold::conversations::journals;
use foldback_live::trial::record::{ConversationLine, Trial, TrialHead};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file of a trial can't be used.
#[derive(Debug, Error)]
#[error("{}{why}", path.display())]
pub struct TrialFileError {
    path: PathBuf,
    why: String,
}

/// The place of the file.
#[derive(Clone, Debug)]
pub(super) struct TrialFile {
    path: PathBuf,
}

impl TrialFile {
    /// Opens the file of a trial, or begins it.
    ///
    /// # Errors
    ///
    /// It can't be read or written, or is that of another trial.
    pub(super) fn open(path: &Path, head: &TrialHead) -> Result<Self, TrialFileError> {
        let wrong = |why: String| TrialFileError { path: path.to_owned(), why };
        let file = Self { path: path.to_owned() };
        let there = file.change(|text| match text.is_empty() {
            true => {
                *text = line(head)?;
                Ok(None)
            }
            false => Ok(Some(Trial::parse(text))),
        });
        match there.map_err(|error| wrong(format!(": {error}")))? {
            None => Ok(file),
            Some(Err(error)) => Err(wrong(format!(":{error}"))),
            Some(Ok(trial)) if trial.head.is_same_trial(head) => Ok(file),
            Some(Ok(trial)) => {
                let arms = |head: &TrialHead| {
                    let arms = head.arms.iter().map(|arm| {
                        let hash = arm.hash.get(..8).unwrap_or_default();
                        format!("{} ({hash}, weight {})", arm.name, arm.weight)
                    });
                    arms.collect::<Vec<_>>().join(", ")
                };
                Err(wrong(format!(
                    ":1: this file is of a trial with seed {} and the arms {}, and not of one with seed {} and the arms {}; a trial \
                     that changes in its middle says nothing, so begin another file (--trial-file)",
                    trial.head.seed,
                    arms(&trial.head),
                    head.seed,
                    arms(head)
                )))
            }
        }
    }

    /// The trial as it is now.
    pub(super) fn read(&self) -> io::Result<Trial> {
        Trial::parse(&fs::read_to_string(&self.path)?).map_err(io::Error::other)
    }

    /// Changes the whole text under the lock.
    pub(super) fn change<T>(
        &self,
        work: impl FnOnce(&mut String) -> io::Result<T>,
    ) -> io::Result<T> {
        let lock = journals::beside(&self.path, ".lock");
        let lock = journals::private(OpenOptions::new().write(true).create(true)).open(lock)?;
        lock.lock()?;
        let before = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let mut text = before.clone();
        let done = work(&mut text)?;
        if text != before {
            journals::replace(&self.path, text.as_bytes())?;
        }
        Ok(done)
    }

    /// Changes the line of a conversation.
    pub(super) fn change_line(
        &self,
        conversation: &str,
        change: impl FnOnce(&mut ConversationLine),
    ) -> io::Result<()> {
        self.change(|text| {
            let begin = format!("\n{{\"conversation\":\"{conversation}\"");
            let Some(at) = memchr::memmem::find(text.as_bytes(), begin.as_bytes()) else {
                return Err(io::Error::other("the line of a conversation is gone"));
            };
            let length = text[at + 1..].find('\n').map_or(text.len() - at, |length| length + 2);
            let mut changed = serde_json::from_str(&text[at..at + length])?;
            change(&mut changed);
            text.replace_range(at + 1..at + length, &line(&changed)?);
            Ok(())
        })
    }
}

/// A value as a line.
pub(super) fn line(value: &impl serde::Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}
