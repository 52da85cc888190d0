//! Identifiers: the strings by which an agent refers to things exactly.
//!
//! Whether a summary "still says it" needs a judge; whether `src/parser.rs`, `E0308` or `max_depth`
//! is still in a context does not. The measures of information without a model
//! ([`crate::judge::availability`]) compare sets of identifiers, and everything they say rests on this one
//! function.
//!
//! | class | what is taken |
//! |---|---|
//! | [`Class::Path`] | `/a/b`, `~/a`, `./a`, `a/b.rs`, a bare name with a known extension, `C:\a\b` |
//! | [`Class::Url`] | `scheme://…` |
//! | [`Class::Symbol`] | `snake_case`, `camelCase`, `a::b`, `a.b`, and the shaped parts of the latter two |
//! | [`Class::Error`] | `TypeError`, `IOException`, `E0308`, `TS2345`, `ENOENT`, `ERR_…`, `SIGSEGV` |
//! | [`Class::Hash`] | at least 7 hex digits with a figure and a letter, UUIDs, `0x…`, `ABC-123` |
//! | [`Class::Number`] | at least 3 figures, points allowed (`8080`, `1.2.3`) |
//! | [`Class::Quoted`] | 8 to 200 characters in quotes on one line, unless another class takes the whole |
//! | [`Class::Flag`] | `--long`, `-rf` |
//!
//! Normalization only ever takes something off an end, so every identifier is a slice of the text:
//! a position (`:12`, `:12:5`, `:12-20`, `#L12`), a leading `./`, a trailing slash, trailing
//! punctuation, the `()` of a call. Case is kept. A backslash with a letter after it is an escape
//! (`\n`, `\b`) and separates, except in a path that starts with a drive. Numbers in the gutter of a
//! listing (`  12→`, `12|`, a figure and a tab, at the start of a line) are places, not content, and are not
//! taken. Strings that say nothing (`and/or`, `/dev/null`, `GitHub`, `--help`) are stop identifiers.
//!
//! What tools write around a path is not part of it: `path:12:text` and `path-12-text` (grep), `a/` and `b/` in
//! the head of a diff, a leading `../`. `src\prompt\x.go` is a path where it can't be read as escapes. The closing
//! tag `</path>` is none.
//!
//! That an identifier of a call stood somewhere before does not make it a reference to it. What does is stated in
//! [`evidence`].
//!
//! Known gaps, all of them on the side of taking less: names in one lower-case word, kebab-case
//! outside quotes, Windows paths all of whose parts may be escapes (`src\test\run.go`), paths with blanks, and
//! imports that name a file without its extension.

#[cfg(test)]
mod cases;
mod class;
pub mod evidence;
#[cfg(test)]
mod tests;
mod word;

pub use class::{Class, Identifier};

use std::collections::VecDeque;

/// The identifiers of a text in order of appearance, repetitions included. One pass over the bytes.
pub fn identifiers(text: &str) -> Identifiers<'_> {
    let found = VecDeque::new();
    Identifiers { text, at: 0, line: 0, quoted_until: 0, line_start: true, found }
}

/// Whether two paths can mean the same file: equal, or one of them a suffix of the other on a
/// component boundary. The shorter one needs two components unless it is `reference` itself: a bare
/// `mod.rs` in a context doesn't tell which one, while a bare `mod.rs` in a command does not ask.
pub fn same_path(reference: &str, other: &str) -> bool {
    ends_with(other, reference) || (components(other) >= 2 && ends_with(reference, other))
}

/// Whether a path ends with another on a component boundary.
pub(crate) fn ends_with(path: &str, end: &str) -> bool {
    let rest = path.strip_suffix(end);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
}

/// Number of components of a path that are not empty.
pub fn components(path: &str) -> usize {
    path.split(['/', '\\']).filter(|part| !part.is_empty()).count()
}

/// Components of the longest suffix of a path that is told from the whole. No system has folders so deep; the
/// suffixes of a path without end would be of a size with its square.
pub(crate) const MAX_COMPONENTS: usize = 64;

/// The suffixes of a path on component boundaries, the path itself first, then those of at most
/// [`MAX_COMPONENTS`].
pub(crate) fn suffixes(path: &str) -> impl Iterator<Item = &str> {
    let last = path.rmatch_indices(['/', '\\']).nth(MAX_COMPONENTS);
    let from = last.map_or(0, |(index, _)| index + 1);
    let inner = path
        .char_indices()
        .filter(move |(index, c)| *index >= from && matches!(c, '/' | '\\'))
        .map(|(index, _)| &path[index + 1..])
        .filter(|rest| !rest.is_empty());
    std::iter::once(path).chain(inner)
}

/// Iterator of [`identifiers`].
#[derive(Clone, Debug)]
pub struct Identifiers<'a> {
    text: &'a str,
    at: usize,
    /// Where the line begins.
    line: usize,
    /// A quote before this offset closes one that was already looked at.
    quoted_until: usize,
    /// Nothing but blanks stands between the start of the line and `at`.
    line_start: bool,
    found: VecDeque<Identifier<'a>>,
}

impl<'a> Iterator for Identifiers<'a> {
    type Item = Identifier<'a>;

    fn next(&mut self) -> Option<Identifier<'a>> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Some(found);
            }
            if self.at >= self.text.len() {
                return None;
            }
            self.step();
        }
    }
}

impl<'a> Identifiers<'a> {
    /// Takes one separator or one word.
    fn step(&mut self) {
        let bytes = self.text.as_bytes();
        let byte = bytes[self.at];
        match byte {
            b'\n' => {
                self.line_start = true;
                self.at += 1;
                self.line = self.at;
            }
            b' ' | b'\t' | b'\r' => self.at += 1,
            b'"' | b'\'' | b'`' => {
                self.quote(byte);
                self.line_start = false;
                self.at += 1;
            }
            b'\\' => {
                let escape = bytes.get(self.at + 1).is_some_and(u8::is_ascii_alphabetic);
                self.at += if escape { 2 } else { 1 };
                if bytes.get(self.at - 1) == Some(&b'n') {
                    self.line = self.at;
                }
            }
            _ if word::in_word(byte) => self.word(),
            _ => {
                self.line_start = false;
                self.at += 1;
            }
        }
    }

    fn word(&mut self) {
        if let Some(behind) = self.behind_gutter() {
            self.at = behind;
            self.line_start = false;
            return;
        }
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        let run = |from: usize, of: fn(u8) -> bool| {
            bytes[from..]
                .iter()
                .position(|byte| !of(*byte))
                .map_or(bytes.len(), |length| from + length)
        };
        let (length, kinds) = word::first(&bytes[start..]);
        let mut end = start + length;
        let drive = bytes[start].is_ascii_alphabetic()
            && end == start + 2
            && bytes[start + 1] == b':'
            && bytes.get(end) == Some(&b'\\');
        if drive {
            end = run(start, |byte| word::in_word(byte) || byte == b'\\');
        } else if let Some(path) = word::windows(&self.text[start..], end - start) {
            self.line_start = false;
            self.at = start + path.len();
            word::push(&mut self.found, Class::Path, path);
            return;
        } else if kinds & word::COLON != 0
            && let Some(scheme) = self.text[start..end].find("://")
        {
            end = run(start + scheme, in_url);
        }
        let word = &self.text[start..end];
        self.line_start = false;
        self.at = end;
        if word::says_nothing(word, kinds) || self.closes_tag(start, end) {
            return;
        }
        if matches!(&bytes[start..end.min(start + 2)], b"a/" | b"b/") && self.heads_diff(start) {
            start += 2;
        }
        let word = &self.text[start..end];
        let call = bytes.get(end) == Some(&b'(');
        if drive {
            let path = word.trim_end_matches(['.', ':', '\\', '-']);
            word::push(&mut self.found, Class::Path, path);
        } else {
            word::classify(word, call, &mut self.found);
        }
    }

    /// Whether a word is a closing tag: `</path>`.
    fn closes_tag(&self, start: usize, end: usize) -> bool {
        let bytes = self.text.as_bytes();
        let word = &self.text[start..end];
        start > 0
            && (bytes[start - 1], bytes.get(end)) == (b'<', Some(&b'>'))
            && word.rfind('/') == Some(0)
            && word.len() > 1
            && word[1..].bytes().all(|b| b.is_ascii_alphanumeric() || b"_:.-".contains(&b))
    }

    /// Whether the line says before an offset that file names of a diff follow: `--- `, `+++ `, `diff --git `.
    fn heads_diff(&self, start: usize) -> bool {
        let before = self.text[self.line..start].trim_start_matches(' ');
        matches!(before, "--- " | "+++ ") || before.starts_with("diff --git ")
    }

    /// Offset after the line number of a listing, where the line starts with one.
    fn behind_gutter(&self) -> Option<usize> {
        let rest = &self.text[self.at..];
        let figures = rest.bytes().take_while(u8::is_ascii_digit).count();
        let numbered = figures > 0 && rest[figures..].starts_with(['→', '\t', '|']);
        let numbered = numbered || (figures > 0 && rest[figures..].starts_with(" |"));
        (self.line_start && numbered).then_some(self.at + figures)
    }

    /// Takes the string that a quote at the current offset opens.
    fn quote(&mut self, quote: u8) {
        let bytes = self.text.as_bytes();
        let open = self.at;
        if open < self.quoted_until {
            return;
        }
        // An apostrophe comes after a letter, an opening quote does not.
        if open > 0 && bytes[open - 1].is_ascii_alphanumeric() {
            return;
        }
        let close = bytes[open + 1..]
            .iter()
            .take(MAX_QUOTED * 4)
            .take_while(|byte| **byte != b'\n')
            .position(|byte| *byte == quote)
            .map(|length| open + 1 + length);
        let Some(close) = close else { return };
        if bytes.get(close + 1).is_some_and(u8::is_ascii_alphanumeric) {
            return;
        }
        self.quoted_until = close + 1;
        let inner = self.text[open + 1..close].trim_end_matches('\\');
        let length = inner.chars().count();
        let blank = inner.starts_with(char::is_whitespace) || inner.ends_with(char::is_whitespace);
        if !(MIN_QUOTED..=MAX_QUOTED).contains(&length)
            || blank
            || !inner.contains(char::is_alphabetic)
        {
            return;
        }
        if identifiers(inner).any(|found| inner.trim_start_matches("./") == found.text) {
            return;
        }
        word::push(&mut self.found, Class::Quoted, inner);
    }
}

/// Characters that a quoted string needs, and may have at most.
const MIN_QUOTED: usize = 8;
const MAX_QUOTED: usize = 200;

/// Bytes of a URL: everything but blanks, quotes, brackets of prose and escapes.
fn in_url(byte: u8) -> bool {
    byte > b' ' && !b"\"'`<>()[]{}\\|".contains(&byte)
}
