//! Texts for a terminal without control sequences: sessions, paths, names of models and tools and strategy files
//! may hold anything, including sequences that move the cursor, set the title or write to the clipboard.

use std::borrow::Cow;

/// A text with its control characters escaped, as `\u{1b}`, including those that change the direction of writing.
/// Line breaks and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    written_out(text, |c| drives(c) && !matches!(c, '\n' | '\t'))
}

/// A text as a single line with its control characters escaped, so that no name can pass for a line of our own.
pub fn line(text: &str) -> Cow<'_, str> {
    written_out(text, drives)
}

/// Digits in groups of three: `1_234_567` is `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn drives(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn written_out(text: &str, which: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match which(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_written_out() {
        let table = [
            ("plain, é, 漢, 👩‍🚀", "plain, é, 漢, 👩‍🚀"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\tb\nc", "a\tb\nc"),
            ("over\rwritten", "over\\rwritten"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("evil\u{202e}txt.exe", "evil\\u{202e}txt.exe"),
        ];
        for (given, expected) in table {
            assert_eq!(text(given), expected);
        }
        assert_eq!(line("model\nerror: gone"), "model\\nerror: gone");
    }
}
