//! Lines and telling words of a text.

use aho_corasick::AhoCorasick;
use rustc_hash::FxHasher;
use std::hash::Hasher as _;
use std::sync::LazyLock;

/// The hash of a telling word.
pub type Word = u64;

/// The hash of a line without its indent and the number that a listing puts in front.
pub type LineKey = u64;

/// A telling word and what it looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The word.
    pub word: Word,
    /// What it looks like.
    pub look: Look,
}

/// What a word looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Bytes, 255 at most.
    pub bytes: u8,
    /// Has a slash.
    pub path: bool,
    /// Ends with a dot and up to four letters.
    pub extension: bool,
    /// Has an underscore.
    pub underscore: bool,
    /// Has a capital after a small letter.
    pub camel: bool,
    /// Has a figure.
    pub digit: bool,
    /// At least seven hexadecimal digits, letters and figures among them.
    pub hex: bool,
}

/// A line that is not blank.
#[derive(Clone, Debug)]
pub struct Line {
    /// Where its text begins, behind the number of a listing, in bytes.
    pub start: u32,
    /// Where it ends, in front of the line feed.
    pub end: u32,
    /// Its number in the text, from 0.
    pub number: u32,
    /// Equal for equal lines.
    pub key: LineKey,
    /// Its telling words: a range of [`Lines::terms`].
    pub terms: (u32, u32),
    /// Spaces and tabs in front of it.
    pub indent: u8,
    /// It defines something, or is a heading.
    pub definition: bool,
    /// It tells of a failure.
    pub failure: bool,
    /// It has neither letter nor figure.
    pub bare: bool,
}

/// The lines of a text.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// In order, without blank ones.
    pub lines: Vec<Line>,
    /// The telling words of each line, each once.
    pub terms: Vec<Term>,
    /// Number of all lines.
    pub count: u32,
}

impl Lines {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let mut out = Self::default();
        let mut at = 0;
        for raw in text.split_inclusive('\n') {
            let number = out.count;
            out.count += 1;
            let end = at + raw.trim_end().len();
            let begin = at;
            at += raw.len();
            if end <= begin {
                continue;
            }
            let mut rest = unnumbered(&text[begin..end]);
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(cut(rest));
                out.add(text, piece, number);
                rest = behind;
            }
        }
        out
    }

    /// Adds a line, given as a piece of the text.
    fn add(&mut self, text: &str, piece: &str, number: u32) {
        let start = piece.as_ptr() as usize - text.as_ptr() as usize;
        let body = piece.trim();
        if body.is_empty() {
            return;
        }
        let first = self.terms.len();
        telling(body, |term| {
            if !self.terms[first..].iter().any(|known| known.word == term.word) {
                self.terms.push(term);
            }
        });
        let indent = piece.len() - piece.trim_start().len();
        self.lines.push(Line {
            start: offset(start),
            end: offset(start + piece.trim_end().len()),
            number,
            key: key(body),
            terms: (offset(first), offset(self.terms.len())),
            indent: u8::try_from(indent).unwrap_or(u8::MAX),
            definition: defines(body),
            failure: FAILURE.is_match(body),
            bare: !body.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80),
        });
    }

    /// The telling words of a line.
    pub fn terms(&self, line: &Line) -> &[Term] {
        &self.terms[line.terms.0 as usize..line.terms.1 as usize]
    }
}

/// Bytes of a line; longer ones are taken in pieces.
const LONGEST: usize = 400;

/// Where the first piece of a line ends: behind the last blank or comma that fits.
fn cut(line: &str) -> usize {
    if line.len() <= LONGEST {
        return line.len();
    }
    let mut end = LONGEST;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let sign = line[..end].rfind([' ', ',', ';', '\t']);
    sign.filter(|at| *at > LONGEST / 2).map_or(end, |at| at + 1)
}

/// An index as the 32 bits that hold it.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The key of a line without its indent.
pub fn key(body: &str) -> LineKey {
    let mut hash = FxHasher::default();
    hash.write(body.as_bytes());
    hash.finish()
}

fn word(text: &[u8]) -> Word {
    let mut hash = FxHasher::default();
    hash.write(text);
    hash.finish()
}

/// A line without the number that a listing puts in front.
pub fn unnumbered(line: &str) -> &str {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return line;
    }
    let rest = &text[digits..];
    let behind = ['→', '\t', '|'].iter().find_map(|sign| rest.strip_prefix(*sign));
    behind.unwrap_or(line)
}

/// Calls for every telling word: at least four bytes of letters, figures and `_ / . - @`, with a letter, and with a figure,
/// an underscore, a capital after a small letter, or one of the signs between two letters or figures. Of a path, its last
/// component is another one.
pub fn telling(text: &str, mut found: impl FnMut(Term)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_inner(bytes[at]) {
            at += 1;
            continue;
        }
        let mut begin = at;
        while at < bytes.len() && is_inner(bytes[at]) {
            at += 1;
        }
        let mut end = at;
        while begin < end && !bytes[begin].is_ascii_alphanumeric() && bytes[begin] != b'_' {
            begin += 1;
        }
        while end > begin && !bytes[end - 1].is_ascii_alphanumeric() && bytes[end - 1] != b'_' {
            end -= 1;
        }
        let Some(look) = look(&bytes[begin..end]) else { continue };
        found(Term { word: word(&bytes[begin..end]), look });
        if look.path
            && let Some(slash) = bytes[begin..end].iter().rposition(|byte| *byte == b'/')
        {
            let name = &bytes[begin + slash + 1..end];
            if let Some(look) = self::look(name) {
                found(Term { word: word(name), look });
            }
        }
    }
}

/// What a word looks like, if it tells something.
fn look(word: &[u8]) -> Option<Look> {
    if word.len() < 4 || !word.iter().any(u8::is_ascii_alphabetic) {
        return None;
    }
    let mut look = Look { bytes: u8::try_from(word.len()).unwrap_or(u8::MAX), ..Look::default() };
    let (mut signs, mut hex, mut before) = (false, true, 0u8);
    for (at, byte) in word.iter().enumerate() {
        look.digit |= byte.is_ascii_digit();
        look.underscore |= *byte == b'_';
        look.camel |= byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        look.path |= *byte == b'/';
        hex &= byte.is_ascii_hexdigit();
        signs |= matches!(byte, b'/' | b'.' | b'-' | b'@')
            && before.is_ascii_alphanumeric()
            && word.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        before = *byte;
    }
    look.hex = hex && look.digit && word.len() >= 7;
    let dot = word.iter().rposition(|byte| *byte == b'.');
    look.extension = dot.is_some_and(|dot| {
        let behind = &word[dot + 1..];
        (1..=4).contains(&behind.len()) && behind.iter().all(u8::is_ascii_alphabetic)
    });
    (look.digit || look.underscore || look.camel || signs).then_some(look)
}

fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'.' | b'-' | b'@')
}

/// Whether a line defines something. Every line comes by here, so the first letter decides for most.
fn defines(line: &str) -> bool {
    let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    line.as_bytes().first().is_some_and(|first| FIRST[usize::from(*first)]) && starts(&DEFINES)
}

/// By byte, whether a definition begins with it.
const FIRST: [bool; 256] = {
    let mut first = [false; 256];
    let mut at = 0;
    while at < DEFINES.len() {
        first[DEFINES[at].as_bytes()[0] as usize] = true;
        at += 1;
    }
    first
};

const DEFINES: [&str; 24] = [
    "fn ",
    "pub ",
    "def ",
    "class ",
    "struct ",
    "enum ",
    "trait ",
    "impl ",
    "func ",
    "type ",
    "interface ",
    "export ",
    "const ",
    "function ",
    "# ",
    "## ",
    "### ",
    "module ",
    "async ",
    "test(",
    "it(",
    "describe(",
    "package ",
    "var ",
];
/// Finds all of them in one pass.
static FAILURE: LazyLock<AhoCorasick> = LazyLock::new(|| {
    // A test looks for each, so this can't fail in a release.
    AhoCorasick::new(FAILS).unwrap_or_else(|error| unreachable!("{error}"))
});

const FAILS: [&str; 8] =
    ["error", "Error", "FAIL", "failed", "panicked", "Exception", "fatal", "undefined"];
