//! The sentences of a text.

/// The sentences of a text: up to a full stop, question or exclamation mark that white space follows,
/// or to the end of a line. Never empty, without white space around.
#[doc(hidden)]
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| Sentences { rest: line.trim() })
}

struct Sentences<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Sentences<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let mut end = self.rest.len();
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let Some((next_at, next)) = chars.peek().copied() else {
                break;
            };
            let wide = matches!(c, '。' | '！' | '？');
            let narrow = matches!(c, '.' | '!' | '?') && next.is_whitespace();
            // A small letter after a full stop is an abbreviation (`e.g. this`) more often than not, and
            // a number before it the mark of a list.
            let goes_on = c == '.'
                && (self.rest[next_at..].trim_start().starts_with(|c: char| c.is_lowercase())
                    || self.rest[..at].bytes().all(|b| b.is_ascii_digit()));
            if wide || (narrow && !goes_on) {
                end = next_at;
                break;
            }
        }
        let (sentence, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        Some(sentence.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_as_a_table() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("  one line ", &["one line"]),
            ("One. Two! Three?", &["One.", "Two!", "Three?"]),
            ("See src/lib.rs now. Done", &["See src/lib.rs now.", "Done"]),
            ("Use it, e.g. this one. Done", &["Use it, e.g. this one.", "Done"]),
            ("a\n\nb", &["a", "b"]),
            ("1. First. 2. Second", &["1. First.", "2. Second"]),
            ("版本。下一个", &["版本。", "下一个"]),
            ("v1.2 is out... really", &["v1.2 is out... really"]),
        ];
        for (text, expected) in cases {
            assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
