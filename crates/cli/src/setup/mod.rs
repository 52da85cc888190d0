//! What a host needs for its conversations to go through the proxy: lines in its settings, which can be taken out again so
//! that the file is byte for byte what it was.
//!
//! What is written stands at a place and in a spelling that follow from the file, so that it is found again, and whatever else was
//! changed since stays. Lines have marks; which members are foldback's is remembered.

mod agents;
mod block;
mod hosts;
mod members;
mod written;

pub(crate) use agents::AgentFile;
pub(crate) use hosts::{HOSTS, Host, Needs, names};
pub(crate) use written::SetupRecord;

use crate::error::Error;
use crate::files::there;
use block::Block;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The change that setting up or undoing makes to a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    /// Its text before (`None`: there is no file) and after.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// The members that are written or taken out.
    members: Vec<(String, Value)>,
}

/// Why a file is left alone.
pub(crate) type Refusal = String;

/// A kind of settings file.
trait Settings {
    /// The rest of a new file. No program writes a file like that, so removing knows that it was new.
    fn new_file(&self) -> &'static str;

    /// The text with everything set; `None` if it is already.
    fn set(&self, text: &str) -> Result<Option<String>, Refusal>;

    /// The text without what `set` writes; `None` if nothing of it is there.
    fn unset(&self, text: &str) -> Result<Option<String>, Refusal>;

    /// The members that are to be written into a text, or taken out, by their places.
    fn members(&self, text: &str, remove: bool) -> Vec<(String, Value)>;
}

/// The settings file of a host in a folder: the first of its names that exists, if only as a link, or else the last.
fn file(host: &Host, folder: &Path) -> Option<PathBuf> {
    existing(host.files.iter().map(|name| folder.join(name)))
}

/// The first of some files that exists, if only as a link, or else the last.
fn existing(files: impl Iterator<Item = PathBuf> + Clone) -> Option<PathBuf> {
    let found = files.clone().find(|path| path.symlink_metadata().is_ok());
    found.or_else(|| files.last())
}

/// The change to the file of a host in a folder, after earlier changes; `None` if it needs none.
pub(crate) fn change(
    host: &Host,
    folder: &Path,
    url: &str,
    remove: bool,
    earlier: &[Change],
    written: &SetupRecord,
) -> Result<Option<Change>, Error> {
    let Some(path) = file(host, folder) else { return Ok(None) };
    match (&host.needs, host.members(url)) {
        (_, Some(mut members)) => {
            if remove {
                members.0.retain(|(place, value)| written.has(&path, &place.join("."), value));
            }
            with(&members, path, remove, earlier)
        }
        (Needs::Lines(lines), _) => with(&Block::of_provider(lines, url), path, remove, earlier),
        _ => Ok(None),
    }
}

/// Members of a host's file that are as foldback would write them, and that it did not write.
pub(crate) fn own(host: &Host, folder: &Path, url: &str, written: &SetupRecord) -> Vec<String> {
    let (Some(mut members), Some(path)) = (host.members(url), file(host, folder)) else {
        return Vec::new();
    };
    members.0.retain(|(place, value)| !written.has(&path, &place.join("."), value));
    match read(&path) {
        Ok(Some(text)) => {
            members.members(&text, true).into_iter().map(|(place, _)| place).collect()
        }
        _ => Vec::new(),
    }
}

fn with(
    settings: &dyn Settings,
    path: PathBuf,
    remove: bool,
    earlier: &[Change],
) -> Result<Option<Change>, Error> {
    let before = match earlier.iter().rev().find(|change| change.path == path) {
        Some(change) => change.after.clone(),
        None => read(&path)?,
    };
    let (text, new) = (before.as_deref(), settings.new_file());
    let done = match (remove, text) {
        (true, None) => None,
        (true, Some(text)) => settings.unset(text).map_err(|why| refused(&path, &why))?,
        (false, text) => settings.set(text.unwrap_or(new)).map_err(|why| refused(&path, &why))?,
    };
    let members = settings.members(text.unwrap_or(new), remove);
    let after = done.map(|after| (!remove || after != new).then_some(after));
    Ok(after.map(|after| Change { path, before, after, members }))
}

/// The text of a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<String>, Error> {
    // Reading a pipe may never end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(refused(path, "it is no regular file"));
    }
    let text = there(path)?.map(String::from_utf8).transpose();
    text.map_err(|_| refused(path, "it is not UTF-8"))
}

fn refused(path: &Path, why: &str) -> Error {
    Error::Usage(format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests;
