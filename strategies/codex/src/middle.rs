//! Texts that lose their middle, as Codex cuts them: tokens are bytes divided by four, rounded up, and what is kept is half from the
//! beginning and half from the end, on character boundaries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a token.
const BYTES: usize = 4;

/// What a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Tokens of four bytes; the note counts tokens.
    #[default]
    Tokens,
    /// Bytes; the note counts characters.
    Bytes,
}

impl Unit {
    fn bytes(self, limit: usize) -> usize {
        match self {
            Self::Tokens => limit.saturating_mul(BYTES),
            Self::Bytes => limit,
        }
    }
}

/// Tokens of a text.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES)
}

/// Whether what a cut would take out is the note of an earlier cut: the text was cut to this limit before.
pub fn was_cut(text: &str, limit: usize, unit: Unit) -> bool {
    let Some((before, after)) = middle(text, unit.bytes(limit)) else { return false };
    // The note begins where the middle does, or a little before: what was kept ended on a character.
    let begins = text[..text.ceil_char_boundary(before + 1)].rfind('…');
    let end = begins.and_then(|at| {
        let note = text[at..].strip_prefix('…')?;
        let words = note.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let kinds = [" tokens truncated…", " chars truncated…"];
        let rest = kinds.iter().find_map(|kind| words.strip_prefix(kind))?;
        (words.len() < note.len()).then(|| text.len() - rest.len())
    });
    end.is_some_and(|end| after <= end)
}

/// What a cut to so many bytes takes out; `None` where the text is within them.
fn middle(text: &str, bytes: usize) -> Option<(usize, usize)> {
    if text.len() <= bytes {
        return None;
    }
    let before = text.floor_char_boundary(bytes / 2);
    // Half from the end, the odd byte included; never from before what is kept of the beginning.
    let after = text.ceil_char_boundary(text.len() - (bytes - bytes / 2)).max(before);
    Some((before, after))
}

/// The text cut to a limit, with a note in the middle that says how much is missing; `None` if it is within the limit.
pub fn cut(text: &str, limit: usize, unit: Unit) -> Option<String> {
    let bytes = unit.bytes(limit);
    let (before, after) = middle(text, bytes)?;
    let missing = match unit {
        Unit::Tokens => format!("{} tokens", (text.len() - bytes).div_ceil(BYTES)),
        Unit::Bytes => format!("{} chars", text[before..after].chars().count()),
    };
    Some(format!("{}…{missing} truncated…{}", &text[..before], &text[after..]))
}
