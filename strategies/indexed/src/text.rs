//! Lines and telling words of a text.

use rustc_hash::FxHasher;
use std::hash::Hasher as _;

/// The hash of a telling word.
pub type Word = u64;

/// The hash of a line without its indent and the number that a listing puts in front.
pub type LineKey = u64;

/// A line that is not blank.
#[derive(Clone, Debug, Default)]
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
    /// It has neither letter nor figure.
    pub bare: bool,
}

/// The lines of a text.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// In order, without blank ones.
    pub lines: Vec<Line>,
    /// The telling words of each line, each once.
    pub terms: Vec<Word>,
}

impl Lines {
    /// Bytes that it takes in memory beside itself.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>() + self.terms.capacity() * size_of::<Word>()
    }

    /// Reads a text.
    pub fn from_text(text: &str) -> Self {
        let mut out = Self::default();
        let mut at = 0;
        for (number, raw) in text.split_inclusive('\n').enumerate() {
            let end = at + raw.trim_end().len();
            let begin = at;
            at += raw.len();
            if end <= begin {
                continue;
            }
            let mut rest = unnumbered(&text[begin..end]);
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(cut(rest));
                rest = behind;
                let start = piece.as_ptr() as usize - text.as_ptr() as usize;
                out.add(piece, offset(start), offset(number));
            }
        }
        out
    }

    /// Adds a line, given as a piece of the text with its place.
    fn add(&mut self, piece: &str, start: u32, number: u32) {
        let body = piece.trim();
        if body.is_empty() {
            return;
        }
        let first = self.terms.len();
        telling(body, |word| {
            if !self.terms[first..].contains(&word) {
                self.terms.push(word);
            }
        });
        self.lines.push(Line {
            start,
            end: start + offset(piece.trim_end().len()),
            number,
            key: key(body),
            terms: (offset(first), offset(self.terms.len())),
            bare: !body.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80),
        });
    }
}

/// Bytes of a line; longer ones are taken in pieces.
const LONGEST: usize = 400;

/// Where the first piece of a line ends: behind the last blank or comma that fits.
fn cut(line: &str) -> usize {
    if line.len() <= LONGEST {
        return line.len();
    }
    let end = line.floor_char_boundary(LONGEST);
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
pub fn telling(text: &str, mut found: impl FnMut(Word)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let mut begin = at;
        let mut signs = 0;
        while at < bytes.len() && SIGN[usize::from(bytes[at])] != 0 {
            signs |= SIGN[usize::from(bytes[at])];
            at += 1;
        }
        let mut end = at;
        at += 1;
        // Most words are plain ones.
        if end - begin < 4 || !may_tell(signs) {
            continue;
        }
        while begin < end && !is_outer(bytes[begin]) {
            begin += 1;
        }
        while end > begin && !is_outer(bytes[end - 1]) {
            end -= 1;
        }
        let whole = &bytes[begin..end];
        if !tells(whole) {
            continue;
        }
        found(word(whole));
        if let Some(slash) = whole.iter().rposition(|byte| *byte == b'/') {
            let name = &whole[slash + 1..];
            if tells(name) {
                found(word(name));
            }
        }
    }
}

/// Whether a word tells something.
fn tells(word: &[u8]) -> bool {
    let all = word.iter().fold(0, |all, byte| all | SIGN[usize::from(*byte)]);
    if word.len() < 4 || !may_tell(all) {
        return false;
    }
    let is = |byte: u8, signs: u8| SIGN[usize::from(byte)] & signs != 0;
    let camel = |pair: &[u8]| is(pair[0], SMALL) && is(pair[1], CAPITAL);
    let joins = |three: &[u8]| {
        is(three[1], JOINT) && is(three[0], ALPHANUMERIC) && is(three[2], ALPHANUMERIC)
    };
    all & (FIGURE | UNDERSCORE) != 0
        || has_both_cases(all) && word.windows(2).any(camel)
        || word.windows(3).any(joins)
}

/// Whether a word of such bytes can tell something.
fn may_tell(signs: u8) -> bool {
    let signed = signs & (FIGURE | UNDERSCORE | JOINT) != 0;
    signs & (SMALL | CAPITAL) != 0 && (signed || has_both_cases(signs))
}

fn has_both_cases(signs: u8) -> bool {
    signs & (SMALL | CAPITAL) == SMALL | CAPITAL
}

/// Whether a word begins and ends with it.
fn is_outer(byte: u8) -> bool {
    SIGN[usize::from(byte)] & (ALPHANUMERIC | UNDERSCORE) != 0
}

const SMALL: u8 = 1;
const CAPITAL: u8 = 2;
const FIGURE: u8 = 4;
const UNDERSCORE: u8 = 8;
/// Characters between the pieces of a path, a name or an address.
const JOINT: u8 = 16;
const ALPHANUMERIC: u8 = SMALL | CAPITAL | FIGURE;

/// The kind of each byte within a word; 0 for a byte that is in no word.
const SIGN: [u8; 256] = {
    let mut sign = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        sign[byte] = match byte as u8 {
            b'a'..=b'z' => SMALL,
            b'A'..=b'Z' => CAPITAL,
            b'0'..=b'9' => FIGURE,
            b'_' => UNDERSCORE,
            b'/' | b'.' | b'-' | b'@' => JOINT,
            _ => 0,
        };
        byte += 1;
    }
    sign
};
