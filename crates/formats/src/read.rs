//! Finding the format of a file, and reading it.

use crate::format::{Attempt, Format};
use crate::peek::Opening;
use crate::session::Shape;
use crate::table::{BINARIES, FORMATS};
use crate::{ReadError, Session, bytes, folded, jsonl, plausible};
use foldback_core::log::Answer;
use std::sync::Arc;

/// The format that recognizes the opening of `text` best; the earlier row of the table wins a tie.
pub fn detect(text: &str) -> Option<&'static Format> {
    let opening = Opening::new(text);
    let (mut best, mut sure) = (None, 0);
    for format in FORMATS {
        for sign in format.signs {
            if sign.sure > sure && sign.is_on(&opening) {
                (best, sure) = (Some(format), sign.sure);
            }
        }
    }
    best
}

/// The format that recognizes the bytes of a file best.
pub fn detect_bytes(bytes: &[u8]) -> Option<&'static Format> {
    let unpacked = bytes::unpacked(bytes).ok()?;
    let text = bytes::decoded(&unpacked).ok()?;
    detect(&text).or_else(|| behind_a_prefix(&text, detect).map(|(format, _)| format))
}

/// The format with this id.
///
/// # Errors
///
/// [`ReadError::NoSuchFormat`], with the nearest id.
pub fn format(id: &str) -> Result<&'static Format, ReadError> {
    FORMATS.iter().find(|format| format.id == id).ok_or_else(|| ReadError::NoSuchFormat {
        id: id.to_owned(),
        nearest: nearest(id),
        known: known(),
    })
}

/// A suggestion for a mistyped id, or nothing where no id is near.
fn nearest(id: &str) -> String {
    FORMATS
        .iter()
        .map(|format| (strsim::levenshtein(id, format.id), format.id))
        .filter(|(distance, known)| {
            *distance * 2 <= known.len() || id.len() > 2 && known.starts_with(id)
        })
        .min()
        .map_or(String::new(), |(_, known)| format!(" (did you mean `{known}`?)"))
}

/// Reads the bytes of a file in the format `from`, or in the one that recognizes it.
///
/// # Errors
///
/// No format recognizes it, there is no format `from`, it is damaged as a whole, or it holds no message.
pub fn read(bytes: &[u8], from: Option<&str>) -> Result<Vec<Session>, ReadError> {
    let bytes = &*bytes::unpacked(bytes)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    let mut sessions = match read_binary(bytes, from) {
        Some(sessions) => sessions?,
        None => read_text(bytes, from)?,
    };
    if let Some(first) = sessions.first_mut() {
        note_glued(first);
    }
    folded::find(&mut sessions);
    for session in &mut sessions {
        plausible::check(session);
        set_apart(session);
    }
    if sessions.iter().all(|session| session.messages.is_empty()) {
        return Err(ReadError::NoMessages);
    }
    Ok(sessions)
}

fn read_binary(bytes: &[u8], from: Option<&str>) -> Attempt {
    BINARIES
        .iter()
        .filter(|binary| bytes.starts_with(binary.magic))
        .filter(|binary| from.is_none_or(|id| binary.ids.contains(&id)))
        .find_map(|binary| (binary.read)(bytes))
}

fn read_text(bytes: &[u8], from: Option<&str>) -> Result<Vec<Session>, ReadError> {
    let text = &*bytes::decoded(bytes)?;
    let read = match from {
        Some(id) => (format(id)?.read)(text),
        None => match detect(text) {
            Some(format) => (format.read)(text),
            None => Err(ReadError::UnknownFormat),
        },
    };
    let prefixed = |error| {
        let look = |text: &str| match from {
            Some(id) => (format(id).ok()?.read)(text).ok(),
            None => (detect(text)?.read)(text).ok(),
        };
        let (mut sessions, skipped) = behind_a_prefix(text, look).ok_or(error)?;
        if let Some(first) = sessions.first_mut() {
            let detail = format!("{skipped} bytes before the first record; left out");
            first.warn("prefix", "line 1", detail);
        }
        Ok(sessions)
    };
    match read {
        // The records were understood. Without the first of them they would tell of another session.
        Err(ReadError::NoMessages) => Err(ReadError::NoMessages),
        read => read.or_else(prefixed),
    }
}

/// The number of places behind a prefix at which a file is tried.
const PLACES: usize = 8;

/// What `look` finds in a text that begins with something else: a line that the command which exported it printed, the
/// prompt of a shell. Gives the bytes in front, too; their line ends stay, so that lines keep their numbers.
fn behind_a_prefix<T>(text: &str, look: impl Fn(&str) -> Option<T>) -> Option<(T, usize)> {
    let begins = text.len() - text.trim_start().len();
    let places = text.match_indices(['{', '[']).map(|(at, _)| at);
    places.filter(|at| *at > begins).take(PLACES).find_map(|at| {
        let (prefix, rest) = text.split_at(at);
        let lines = "\n".repeat(prefix.matches('\n').count());
        Some((look(&format!("{lines}{rest}"))?, at - begins))
    })
}

/// Lines of a file on which values stand side by side. All sessions of a file have its lines; the first has the note.
fn note_glued(session: &mut Session) {
    // Lines of foldback's own bring the note along.
    let noted = session.warnings.iter().any(|warning| warning.code == jsonl::GLUED);
    if session.source.shape == Shape::Lines && !noted {
        session.warnings.splice(0..0, jsonl::glued(&session.source));
    }
}

/// Puts what the provider asked by itself within answers beside the log, each request with its model.
fn set_apart(session: &mut Session) {
    for message in &mut session.messages {
        if message.answer.as_ref().is_none_or(|answer| answer.rounds.is_empty()) {
            continue;
        }
        let Some(answer) = &mut Arc::make_mut(message).answer else { continue };
        let apart = std::mem::take(&mut answer.rounds).into_iter().map(|round| Answer {
            usage: Some(round.usage),
            model: round.model.or_else(|| answer.model.clone()),
            provider: answer.provider.clone(),
            ended: answer.ended,
            service: answer.service,
            ..Answer::default()
        });
        session.unlogged.extend(apart);
    }
}

fn known() -> String {
    FORMATS.iter().map(|format| format.id).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_id_is_answered_with_the_nearest() {
        let table = [
            ("open-code", "there is no format `open-code` (did you mean `opencode`?); known are "),
            ("anthropc", "there is no format `anthropc` (did you mean `anthropic`?); known are "),
            ("claude", "there is no format `claude` (did you mean `claude-code`?); known are "),
            ("xml", "there is no format `xml`; known are foldback, "),
        ];
        for (id, expected) in table {
            let error = format(id).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(format("opencode").unwrap().id, "opencode");
    }
}
