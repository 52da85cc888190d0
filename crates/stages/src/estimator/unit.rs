//! What a character is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a character is. The languages disagree: `len` of Go and Rust counts bytes, `length` of
/// JavaScript UTF-16 code units, `len` of Python code points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes of UTF-8 (Go, Rust).
    Bytes,
    /// UTF-16 code units (JavaScript, Java).
    #[default]
    Utf16,
    /// Unicode code points (Python).
    CodePoints,
    /// Unicode code points, one outside ASCII for four.
    AsciiOrFour,
}

impl Unit {
    /// The name that configuration and ids use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Utf16 => "utf16",
            Self::CodePoints => "code-points",
            Self::AsciiOrFour => "ascii-or-four",
        }
    }

    /// Length of a text in this unit.
    pub fn len(self, text: &str) -> u64 {
        // In UTF-8 every code point has one byte that is no continuation byte, and exactly those outside
        // the basic plane, which are two units in UTF-16, begin with 0xF0 or above.
        match self {
            Self::Bytes => text.len() as u64,
            Self::Utf16 => sum(text, |byte| u8::from(byte & 0xC0 != 0x80) + u8::from(byte >= 0xF0)),
            Self::CodePoints => sum(text, |byte| u8::from(byte & 0xC0 != 0x80)),
            Self::AsciiOrFour => {
                Self::CodePoints.len(text) + 3 * sum(text, |byte| u8::from(byte >= 0xC0))
            }
        }
    }
}

/// The sum over the bytes of a text of what each counts, two at most: by as many bytes as one byte can
/// sum up, which the processor then does many at a time.
fn sum(text: &str, counts: impl Fn(u8) -> u8) -> u64 {
    let of = |bytes: &[u8]| u64::from(bytes.iter().map(|byte| counts(*byte)).sum::<u8>());
    text.as_bytes().chunks(usize::from(u8::MAX / 2)).map(of).sum()
}

/// UTF-16 units of a text as a string in JSON, with its quotes, as JavaScript writes it.
pub fn json_string(text: &str) -> u64 {
    let escape = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 1,
        0..0x20 => 5,
        _ => 0,
    };
    2 + Unit::Utf16.len(text) + text.bytes().map(escape).sum::<u64>()
}

/// Whether JavaScript's `\s` matches: Unicode white space with U+FEFF and without U+0085, the other
/// way round from [`char::is_whitespace`].
pub fn is_js_whitespace(c: char) -> bool {
    c == '\u{FEFF}' || (c != '\u{85}' && c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_agree_with_the_standard_library() {
        for text in ["", "a", "é", "漢字", "😀", "a\u{10FFFF}b", "\u{FFFF}\u{7FF}\u{800}"] {
            assert_eq!(Unit::Bytes.len(text), text.len() as u64, "{text:?}");
            assert_eq!(Unit::Utf16.len(text), text.encode_utf16().count() as u64, "{text:?}");
            assert_eq!(Unit::CodePoints.len(text), text.chars().count() as u64, "{text:?}");
            let weighed = text.chars().map(|c| if c.is_ascii() { 1 } else { 4 }).sum::<u64>();
            assert_eq!(Unit::AsciiOrFour.len(text), weighed, "{text:?}");
        }
    }

    #[test]
    fn a_string_in_json_has_its_quotes_and_escapes() {
        for text in ["", "a b", "\"\\/", "\n\r\t\u{8}\u{c}", "\u{1}\u{7f}", "é😀\u{2028}"] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(json_string(text), json.encode_utf16().count() as u64, "{text:?}");
        }
    }

    #[test]
    fn whitespace_is_what_javascript_calls_so() {
        let cases = [
            (' ', true),
            ('\u{FEFF}', true),
            ('\u{85}', false),
            ('\u{A0}', true),
            ('\u{2028}', true),
            ('\u{3000}', true),
            ('\u{200B}', false),
            ('\u{180E}', false),
            ('x', false),
        ];
        for (c, expected) in cases {
            assert_eq!(is_js_whitespace(c), expected, "{c:?}");
        }
    }
}
