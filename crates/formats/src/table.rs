//! The one table that lists the formats.

use crate::write::{Outcome, View};
use crate::{ReadError, Session, WriteError};

/// Id of a format: a row of [`FORMATS`].
pub type FormatId = &'static str;

/// Writes a session as a strategy left it.
pub type Writer = fn(&View<'_>) -> Result<Outcome, WriteError>;

/// One format.
#[derive(Debug)]
pub struct Format {
    /// Its id on the command line.
    pub id: FormatId,
    /// What it is, in a line.
    pub title: &'static str,
    /// How sure the importer is that a text is in its format, 0 (not) to 100 (certain). Looks at the
    /// opening of the text only and never fails.
    pub detect: fn(&str) -> u8,
    /// Reads a text into its sessions, at least one.
    pub read: fn(&str) -> Result<Vec<Session>, ReadError>,
    /// Writes a session as a strategy left it; `None` where the format is only read. For a session
    /// of the same format, records that nothing touched are copied byte for byte.
    pub write: Option<Writer>,
    /// Whether a session of another format is written as a log, in which a compaction has a place beside
    /// what it replaced, rather than as one conversation.
    pub log: bool,
    /// Whether files of several sessions, one after the other, are one file.
    pub many: bool,
}

/// Files of a format that are no text. They are told by their first bytes.
#[derive(Debug)]
pub(crate) struct Binary {
    /// The ids under which they may be asked for.
    pub(crate) ids: &'static [FormatId],
    /// What they begin with.
    pub(crate) magic: &'static [u8],
    /// Reads a file.
    pub(crate) read: fn(&[u8]) -> Attempt,
}

/// What reading a binary file gave; `None` where it is something else that begins alike.
pub(crate) type Attempt = Option<Result<Vec<Session>, ReadError>>;

/// The binary files of all formats.
const BINARIES: &[Binary] = &[crate::inspect::ARCHIVE, crate::opencode_db::STORE];

/// Every format, in the order in which ties of detection are decided.
pub const FORMATS: &[Format] = &[
    crate::foldback::FORMAT,
    crate::claude_code::FORMAT,
    crate::codex::FORMAT,
    crate::pi::FORMAT,
    crate::gemini_cli::FORMAT,
    crate::copilot_cli::FORMAT,
    crate::roo_code::FORMAT,
    crate::gemini::FORMAT,
    crate::openhands::FORMAT,
    crate::openhands_llm::FORMAT,
    crate::opencode::FORMAT,
    crate::atif::FORMAT,
    crate::inspect::FORMAT,
    crate::tau2::FORMAT,
    crate::langchain::FORMAT,
    crate::otel::FORMAT,
    crate::pydantic_ai::FORMAT,
    crate::swe_agent::FORMAT,
    crate::mini_swe_agent::FORMAT,
    crate::openai_responses::FORMAT,
    crate::openai_chat::FORMAT,
    crate::anthropic::FORMAT,
];

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

/// Reads the bytes of a file in the format `from`, or in the one that recognises it.
pub fn read(bytes: &[u8], from: Option<&str>) -> Result<Vec<Session>, ReadError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    let sessions = match read_binary(bytes, from) {
        Some(sessions) => sessions?,
        None => read_text(bytes, from)?,
    };
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
        None => crate::detect(text).ok_or_else(|| ReadError::UnknownFormat { known: known() })?,
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
