//! Finding the format of a file, and reading it.

use crate::format::{Attempt, Format};
use crate::table::{BINARIES, FORMATS};
use crate::{ReadError, Session, folded, plausible};

/// The format that recognizes the opening of `text` best; the earlier row of the table wins a tie.
pub fn detect(text: &str) -> Option<&'static Format> {
    let mut best: Option<(&'static Format, u8)> = None;
    for format in FORMATS {
        let score = (format.detect)(text);
        if score > best.map_or(0, |(_, best)| best) {
            best = Some((format, score));
        }
    }
    best.map(|(format, _)| format)
}

/// The format with this id.
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
        .min()
        .filter(|(distance, known)| *distance * 2 <= known.len())
        .map_or(String::new(), |(_, known)| format!(" (did you mean `{known}`?)"))
}

/// Reads the bytes of a file in the format `from`, or in the one that recognizes it.
pub fn read(bytes: &[u8], from: Option<&str>) -> Result<Vec<Session>, ReadError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    let mut sessions = match read_binary(bytes, from) {
        Some(sessions) => sessions?,
        None => read_text(bytes, from)?,
    };
    for session in &mut sessions {
        folded::find(session);
        plausible::check(session);
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
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ReadError::Binary { offset: error.valid_up_to() })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = match from {
        Some(id) => format(id)?,
        None => detect(text).ok_or_else(|| ReadError::UnknownFormat { known: known() })?,
    };
    (format.read)(text)
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
            ("xml", "there is no format `xml`; known are foldback, "),
        ];
        for (id, expected) in table {
            let error = format(id).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(format("opencode").unwrap().id, "opencode");
    }
}
