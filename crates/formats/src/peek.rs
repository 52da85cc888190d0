//! The opening of a text, for detection.

use std::cell::OnceCell;

/// How much of a text is looked at, and how much of long strings is passed over besides.
const BYTES: usize = 128 * 1024;
const LONG: usize = 8 << 20;
/// How deep below the top the looking goes.
const DEPTH: usize = 5;
/// How much of a string is kept.
const SCALAR: usize = 64;
/// How many lines are looked at.
const LINES: usize = 20;

/// The opening of a text: as one value, and line by line. Each is read when a format first asks for it.
pub(crate) struct Opening<'a> {
    text: &'a str,
    whole: Peek,
    /// The first lines. A line may be a whole file.
    lines: Vec<(&'a str, OnceCell<Peek>)>,
}

impl<'a> Opening<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let lines = text.lines().take(LINES).map(|line| (line, OnceCell::new()));
        Self { text, whole: peek(text), lines: lines.collect() }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The opening of the first value.
    pub(crate) fn whole(&self) -> &Peek {
        &self.whole
    }

    /// The openings of the objects on the first `count` lines.
    pub(crate) fn objects(&self, count: usize) -> impl Iterator<Item = &Peek> {
        let lines = self.lines.iter().take(count);
        let objects = lines.filter(|(line, _)| line.trim_start().starts_with('{'));
        objects.map(|(line, found)| found.get_or_init(|| peek(line)))
    }
}

/// What the opening of the first JSON value in a text holds: every path with its scalar. Elements of
/// arrays all have the path segment `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peek {
    found: Vec<(String, String)>,
}

impl Peek {
    /// Whether anything stands at a path like `/messages/*/role`. The path of an array element is
    /// found once the element holds something.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.found.iter().any(|(found, _)| {
            found.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Whether the scalar `value` (strings without quotes) stands at a path.
    pub(crate) fn is(&self, path: &str, value: &str) -> bool {
        self.values(path).any(|found| found == value)
    }

    /// The scalars at a path, in order.
    pub(crate) fn values<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        self.found.iter().filter(move |(found, _)| found == path).map(|(_, value)| value.as_str())
    }
}

/// Looks at the opening of `text`. Never fails: it stops at damaged or cut text.
pub(crate) fn peek(text: &str) -> Peek {
    let mut walk = Walk { text: text.as_bytes(), pos: 0, passed: 0, found: Vec::new() };
    walk.value("", 0);
    Peek { found: walk.found }
}

struct Walk<'a> {
    text: &'a [u8],
    pos: usize,
    /// Bytes of strings that were passed over.
    passed: usize,
    found: Vec<(String, String)>,
}

impl Walk<'_> {
    /// The byte at the cursor; `None` where the looking ends.
    fn byte(&self) -> Option<u8> {
        self.text.get(self.pos).copied().filter(|_| self.pos < BYTES + self.passed)
    }

    /// Walks a value; `None` once the text ends or is not JSON.
    fn value(&mut self, path: &str, depth: usize) -> Option<()> {
        match self.next()? {
            b'{' | b'[' if depth > DEPTH => self.skip(),
            b'{' => self.members(path, depth),
            b'[' => self.elements(path, depth),
            b'"' => {
                let text = self.string()?;
                self.note(path, depth, text);
                Some(())
            }
            _ => {
                let start = self.pos;
                while !matches!(self.byte()?, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
                    self.pos += 1;
                }
                let text = String::from_utf8_lossy(&self.text[start..self.pos]).into_owned();
                self.note(path, depth, text);
                (self.pos > start).then_some(())
            }
        }
    }

    fn members(&mut self, path: &str, depth: usize) -> Option<()> {
        if depth > 0 {
            self.note(path, depth, String::new());
        }
        self.children(b'}', |walk| {
            (walk.next()? == b'"').then_some(())?;
            let key = walk.string()?;
            (walk.next()? == b':').then_some(())?;
            walk.pos += 1;
            walk.value(&format!("{path}/{key}"), depth + 1)
        })
    }

    fn elements(&mut self, path: &str, depth: usize) -> Option<()> {
        self.note(path, depth, String::new());
        self.children(b']', |walk| walk.value(&format!("{path}/*"), depth + 1))
    }

    /// Walks the content between the bracket at the cursor and its closing bracket.
    fn children(&mut self, close: u8, child: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        self.pos += 1;
        let mut ended = self.next()? == close;
        while !ended {
            child(self)?;
            ended = self.next()? == close;
            (ended || self.next()? == b',').then_some(())?;
            self.pos += usize::from(!ended);
        }
        self.pos += 1;
        Some(())
    }

    /// Passes over a list or an object, of which nothing would be noted, however deep it is nested.
    fn skip(&mut self) -> Option<()> {
        let mut open = 0usize;
        loop {
            match self.byte()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.pos += 1;
            if open == 0 {
                return Some(());
            }
        }
    }

    fn note(&mut self, path: &str, depth: usize, value: String) {
        if depth <= DEPTH && !path.is_empty() {
            self.found.push((path.to_owned(), value));
        }
    }

    fn next(&mut self) -> Option<u8> {
        while self.byte()?.is_ascii_whitespace() {
            self.pos += 1;
        }
        self.byte()
    }

    /// The string at the cursor, escapes left as they are.
    fn string(&mut self) -> Option<String> {
        let start = self.pos + 1;
        self.pos = start;
        let most = self.text.len().min(BYTES + self.passed.max(LONG));
        loop {
            let rest = self.text.get(self.pos..most)?;
            self.pos += rest.iter().position(|byte| matches!(byte, b'\\' | b'"'))?;
            if self.text[self.pos] == b'"' {
                break;
            }
            self.pos += 2;
        }
        let end = self.pos.min(start + SCALAR);
        self.passed = LONG.min(self.passed + self.pos - end);
        self.pos += 1;
        Some(String::from_utf8_lossy(&self.text[start..end]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_enough() {
        let cut = r#"{"info": {"id": "ses_1", "n": 3}, "messages": [{"role": "user", "parts": []}, {"role": "assistant", "content": "cut o"#;
        let peek = peek(cut);
        assert!(peek.has("/info") && peek.has("/messages/*/parts"));
        assert!(peek.is("/info/id", "ses_1") && peek.is("/info/n", "3"));
        let roles: Vec<_> = peek.values("/messages/*/role").collect();
        assert_eq!(roles, ["user", "assistant"]);
        assert!(!peek.has("/messages/*/content"));
        assert!(!peek.has("/inf"));
    }

    #[test]
    fn nesting_without_end_ends_the_looking() {
        for opening in ["[", "{\"a\":"] {
            let text = format!("{{\"first\": 1, \"deep\": {}", opening.repeat(100_000));
            assert!(peek(&text).is("/first", "1"), "{opening}");
        }
    }

    #[test]
    fn what_stands_behind_deep_nesting_is_found() {
        let deep = format!("{}\"]\"{}", "[".repeat(300), "]".repeat(300));
        let text = format!("{{\"deep\": {deep}, \"last\": 1}}");
        assert!(peek(&text).is("/last", "1"));
    }

    #[test]
    fn what_stands_behind_a_long_string_is_found() {
        let text = format!("{{\"long\": \"{}\", \"last\": 1}}", "\\n x".repeat(100_000));
        assert!(peek(&text).is("/last", "1"));
        let endless = format!("{{\"first\": 1, \"long\": \"{}", "x".repeat(20 << 20));
        assert!(peek(&endless).is("/first", "1"));
    }

    #[test]
    fn anything_else_is_nothing() {
        for text in ["", "plain text", "{", "[", "\"", "{\"a\"", "\u{0}"] {
            assert!(!peek(text).has("/a"), "{text:?}");
        }
    }
}
