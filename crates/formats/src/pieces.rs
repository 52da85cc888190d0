//! A session that is kept as a folder of files: OpenHands' SDK writes each event of a conversation to a file of its own, and
//! what the conversation has used up, its model and its id to another beside them.
//!
//! They are joined to the lines that the SDK's events are elsewhere, so that their reader knows nothing of folders.

use crate::{limit, raw};
use foldback_providers::wire::shared::raw::json_string;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The file that stands for the conversation.
const STATE: &str = "base_state.json";
/// The folder beside it with a file for each event.
const EVENTS: &str = "events";

/// The beginning of the names of these files.
const EVENT: &str = "event-";

/// Whether a file is a piece of a session that is read by way of another file.
pub fn is_piece(path: &Path) -> bool {
    let named = path.file_name().and_then(|name| number(name.to_str()?)).is_some();
    let Some(folder) = path.parent().filter(|folder| named && folder.ends_with(EVENTS)) else {
        return false;
    };
    let state = || folder.parent().is_some_and(|above| is_file(&above.join(STATE)));
    is_file(path) && is_folder(folder) && state()
}

/// The file that stands for the session that a folder is; `None` where the folder is none by itself.
pub fn session_file(folder: &Path) -> Option<PathBuf> {
    let state = folder.join(STATE);
    (is_file(&state) && is_folder(&folder.join(EVENTS))).then_some(state)
}

/// The conversation that a file stands for, its state as the first line and its events in their order; `None` where it stands
/// for none. In place of a file that can't be used is a line that says so.
///
/// # Errors
///
/// All files together hold more than the limit.
pub(crate) fn joined(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let is_state = path.file_name().is_some_and(|name| name == STATE) && is_file(path);
    let folder = path.with_file_name(EVENTS);
    if !is_state || !is_folder(&folder) {
        return Ok(None);
    }
    let events = events(&folder);
    if events.is_empty() {
        return Ok(None);
    }
    let largest = limit::largest()?;
    let mut lines = Vec::new();
    let (state, problem) = match text(path, largest)? {
        Ok(state) => (state, None),
        Err(problem) => ("null".to_owned(), Some(problem)),
    };
    // As the SDK itself sends a whole state among its events.
    let opening = r#"{"kind":"ConversationStateUpdateEvent","source":"environment""#;
    lines.extend(format!("{opening},\"key\":\"full_state\",\"value\":{state}}}\n").bytes());
    lines.extend(problem.into_iter().flat_map(String::into_bytes));
    for event in events {
        let left = largest.checked_sub(lines.len() as u64);
        let text = text(&event, left.ok_or_else(|| limit::too_large(largest))?)?;
        lines.extend(text.map_or_else(|problem| problem, |text| text + "\n").bytes());
    }
    Ok(Some(lines))
}

/// Whether a text is the note that [`joined`] puts in place of an unusable file.
pub(crate) fn is_told(text: &str) -> bool {
    text.starts_with(EVENT) || text.starts_with(STATE)
}

/// The files of the events, by their numbers.
fn events(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A link may lead anywhere, and a pipe never ends.
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let numbered = files.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((number(&name)?, name))
    });
    let mut numbered: Vec<(u64, String)> = numbered.collect();
    numbered.sort();
    numbered.into_iter().map(|(_, name)| folder.join(name)).collect()
}

/// The number in the name of an event's file: `event-00007-….json`.
fn number(name: &str) -> Option<u64> {
    let rest = name.strip_prefix(EVENT)?.strip_suffix(".json")?;
    rest.split('-').next()?.parse().ok()
}

/// The JSON in a file, on one line; else a line that says why there is none.
fn text(path: &Path, left: u64) -> io::Result<Result<String, String>> {
    let bytes = File::open(path).and_then(|file| limit::within(file, left));
    let found = match bytes {
        Ok(None) => return Err(limit::too_large(limit::largest()?)),
        Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let found = found.and_then(|text| match raw::parse(&text) {
        // No text in JSON holds the end of a line as it is.
        Ok(_) => Ok(text.replace(['\n', '\r'], " ")),
        Err(error) => Err(error.to_string()),
    });
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let told = |problem| format!("{}\n", json_string(&format!("{name}: {problem}")));
    Ok(found.map_err(told))
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}
