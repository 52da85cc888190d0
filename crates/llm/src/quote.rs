//! Quoting: text that others wrote goes into a request between two lines that it can't spell.
//!
//! A tool output may hold anything, also a line that looks like the end of the quotation followed by
//! instructions. The lines therefore carry a code that is made from the quoted text itself and is
//! lengthened until it occurs nowhere in it: the same text always has the same code, no text contains
//! its own, and one that was written to match another code doesn't match this one.

use std::borrow::Cow;

/// Hexadecimal digits that a code has at least.
const SHORTEST: usize = 8;

/// The two lines around quoted texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    code: String,
}

impl Fence {
    /// A fence whose code occurs in no text.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts: Vec<&str> = texts.into_iter().collect();
        let mut hasher = blake3::Hasher::new();
        for text in &texts {
            // The length keeps ("ab", "c") and ("a", "bc") apart.
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let mut digits = hasher.finalize_xof();
        let mut code = String::new();
        // Ends, because a code that is longer than the texts can't be in them.
        loop {
            let mut more = [0; SHORTEST / 2];
            digits.fill(&mut more);
            for byte in more {
                for digit in [byte >> 4, byte & 15] {
                    code.extend(char::from_digit(digit.into(), 16));
                }
            }
            if !texts.iter().any(|text| contains(text, &code)) {
                return Self { code };
            }
        }
    }

    /// The code of both lines.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The text between its lines, e.g. `-----BEGIN RECORD 1a2b3c4d-----`.
    pub fn quote(&self, label: &str, text: &str) -> String {
        let code = &self.code;
        let text = text.trim_end_matches('\n');
        format!("-----BEGIN {label} {code}-----\n{text}\n-----END {label} {code}-----")
    }
}

/// Whether a text contains a code in upper or lower case. A model does not tell them apart.
fn contains(text: &str, code: &str) -> bool {
    text.as_bytes().windows(code.len()).any(|window| window.eq_ignore_ascii_case(code.as_bytes()))
}

/// Shortest run of base64 digits that is taken for encoded bytes, and after `;base64,`.
const RUN: usize = 256;
const DECLARED_RUN: usize = 16;

/// The text with runs of base64 replaced by their size: a model can't read them, and they cost more
/// tokens than anything else.
pub(crate) fn without_base64(text: &str) -> Cow<'_, str> {
    let digit = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'-' | b'_');
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|c| digit(c)).count();
        let end = at + run + bytes[at + run..].iter().take_while(|c| **c == b'=').count();
        let declared = text[..at].ends_with(";base64,");
        let shortest = if declared { DECLARED_RUN } else { RUN };
        if run >= shortest && (declared || is_mixed(&bytes[at..at + run])) {
            out.push_str(&text[copied..at]);
            out.push_str(&format!("[{} characters of base64 left out]", end - at));
            copied = end;
        }
        // A run ends at a byte that is no digit, which may be the first of a longer character.
        at = text.ceil_char_boundary(end.max(at + 1));
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Rules, padding and long identifiers use few different digits; encoded bytes use most of them.
fn is_mixed(run: &[u8]) -> bool {
    let mut seen = [false; 256];
    for byte in run {
        seen[usize::from(*byte)] = true;
    }
    let different = seen.iter().filter(|seen| **seen).count();
    let has = |test: fn(&u8) -> bool| run.iter().any(test);
    different >= 24
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_contains_its_own_code() {
        let plain = Fence::new(["hello"]);
        assert_eq!(plain.code().len(), SHORTEST);
        assert_eq!(plain, Fence::new(["hello"]));
        assert_ne!(plain, Fence::new(["hello", ""]));
        // All codes of four digits and more that a text could guess at: it holds every short one.
        let all: String = (0..=u16::MAX).map(|n| format!("{n:04x} ")).collect();
        for text in ["", "a", &all, plain.code()] {
            let fence = Fence::new([text]);
            assert!(!contains(text, fence.code()), "{}", fence.code());
        }
    }

    #[test]
    fn a_code_that_occurs_is_lengthened() {
        // Whatever the hash, this has it: a stand-in for a text that was made to match its own code.
        assert!(contains("xx1A2B3C4Dyy", "1a2b3c4d"));
        assert!(!contains("1A2B", "1a2b3c4d"));
    }

    #[test]
    fn base64_as_a_table() {
        let encoded: String = "iVBORw0KGgoAAAANSUhEUgAAAfQAAAH0CAYAAADL1t+/".repeat(8);
        let url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
        let rule = "-".repeat(400);
        let repeated = "x".repeat(4_000);
        let path = "src/".repeat(100);
        let cases = [
            ("plain words".to_owned(), "plain words".to_owned()),
            (
                format!("see {encoded}== ü"),
                format!("see [{} characters of base64 left out] ü", encoded.len() + 2),
            ),
            (
                format!("<img src=\"{url}\">"),
                "<img src=\"data:image/png;base64,[24 characters of base64 left out]\">".to_owned(),
            ),
            (rule.clone(), rule),
            (repeated.clone(), repeated),
            (path.clone(), path),
            ("äöü…".to_owned(), "äöü…".to_owned()),
        ];
        for (given, expected) in cases {
            assert_eq!(without_base64(&given), expected);
        }
    }
}
