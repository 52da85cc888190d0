//! The file of a trial, which several proxies may write.
//!
//! Whoever writes holds a lock on the file beside it (`FILE.lock`), reads the file, changes its line and puts a whole new file in its
//! place. So a line is never torn and never doubled, and a proxy that is killed loses at most the answer that it was about to write.

use crate::fold::conversations::journals;
use foldback_live::trial::record::{ConversationLine, Trial, TrialArm, TrialHead};
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::Path;

/// Begins the file of a trial.
///
/// # Errors
///
/// It can't be read or written, or is that of another trial.
pub(super) fn open(path: &Path, head: &TrialHead) -> Result<(), String> {
    let found = change(path, |text| {
        if text.is_empty() {
            *text = line(head)?;
        }
        Ok(Trial::parse(text))
    });
    let path = path.display();
    let found = found.map_err(|error| format!("{path}: {error}"))?;
    let there = found.map_err(|why| format!("{path}:{why}"))?.head;
    if there.is_same_trial(head) {
        return Ok(());
    }
    let [there, here] = [&there, head].map(|TrialHead { seed, arms, .. }| {
        let arm = |arm: &TrialArm| format!("{} ({:.8}, weight {})", arm.name, arm.hash, arm.weight);
        let arms: Vec<String> = arms.iter().map(arm).collect();
        format!("seed {seed} and the arms {}", arms.join(", "))
    });
    Err(format!(
        "{path}:1: this file is of a trial with {there}, and not of one with {here}; a trial that changes in its middle says nothing, so \
         begin another file (--trial-file)"
    ))
}

/// The trial as it is now.
pub(super) fn read(path: &Path) -> io::Result<Trial> {
    Trial::parse(&fs::read_to_string(path)?).map_err(io::Error::other)
}

/// Changes the text under the lock.
pub(super) fn change<T>(
    path: &Path,
    work: impl FnOnce(&mut String) -> io::Result<T>,
) -> io::Result<T> {
    let lock = journals::beside(path, ".lock");
    let lock = journals::private(OpenOptions::new().write(true).create(true)).open(lock)?;
    lock.lock()?;
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let mut text = before.clone();
    let done = work(&mut text)?;
    if text != before {
        journals::replace(path, text.as_bytes())?;
    }
    Ok(done)
}

/// The first line of a conversation that has a piece, and where it stands.
pub(super) fn find(text: &str, piece: &str) -> Option<(Range<usize>, ConversationLine)> {
    let at = memchr::memmem::find(text.as_bytes(), piece.as_bytes())?;
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
    Some((start..end, serde_json::from_str(&text[start..end]).ok()?))
}

/// A value as a line.
pub(super) fn line(value: &impl serde::Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}
