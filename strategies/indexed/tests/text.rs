//! Lines, telling words, and what calls are about, as tables.

use foldback_core::log::{Message, Part, Role};
use foldback_indexed::message::said;
use foldback_indexed::text::{Lines, key, telling, unnumbered};
use foldback_test_support::table;
use proptest::prelude::*;
use serde::de::DeserializeOwned;

pub(crate) fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

fn lines(text: &str) -> Vec<&str> {
    let read = Lines::from_text(text);
    let shown = |line: &foldback_indexed::text::Line| &text[line.start as usize..line.end as usize];
    read.lines.iter().map(shown).collect()
}

#[test]
fn lines_as_a_table() {
    for (name, text, expected) in rows::<(String, String, Vec<String>)>("lines") {
        assert_eq!(lines(&text), expected, "{name}");
    }
}

#[test]
fn long_lines_are_taken_in_pieces() {
    let words = "alpha_1 ".repeat(120);
    let pieces = lines(&words);
    assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() <= 400), "{pieces:?}");
    assert_eq!(pieces.join(" "), words.trim_end());
    let unbroken = "é".repeat(500);
    assert_eq!(lines(&unbroken).concat(), unbroken);
    // A comma in the second half of 400 bytes ends a piece. Where the 400 bytes end within a character, it does before that.
    for (before, then, first) in
        [(200, ",", 400), (201, ",", 202), (399, ",", 400), (400, ",", 400), (399, "é", 399)]
    {
        let line = format!("{}{then}{}", "x".repeat(before), "y".repeat(300));
        assert_eq!(lines(&line)[0].len(), first, "{before} bytes before {then}");
    }
}

#[test]
fn equal_lines_have_equal_keys() {
    let one = Lines::from_text("  12→    let a = 1;\n");
    let other = Lines::from_text("\tlet a = 1;");
    assert_eq!(one.lines[0].key, other.lines[0].key);
    assert_eq!(one.lines[0].key, key("let a = 1;"));
    assert_ne!(one.lines[0].key, key("let a = 2;"));
}

#[test]
fn telling_words_as_a_table() {
    for (text, expected) in rows::<(String, usize)>("telling") {
        let mut words = 0;
        telling(&text, |_| words += 1);
        assert_eq!(words, expected, "{text}");
    }
}

#[test]
fn a_number_alone_is_no_gutter() {
    assert_eq!(unnumbered("  12 x"), "  12 x");
    assert_eq!(unnumbered("  12|x"), "x");
}

#[test]
fn calls_as_a_table() {
    type Row = (String, String, String, String, String);
    for (tool, arguments, kind, label, written) in rows::<Row>("calls") {
        let message =
            Message::new("a", Role::Assistant, vec![Part::call("call-1", &*tool, &*arguments)]);
        let call = said(&message).calls[0].as_ref().unwrap();
        let got = (format!("{:?}", call.kind), call.label.clone());
        assert_eq!(got, (kind, label), "{tool} {arguments}");
        assert_eq!(call.written, written, "{tool} {arguments}");
    }
}

/// The definition of a telling word, without haste.
fn tells(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    let between = |sign: &[char], a: fn(&char) -> bool, b: fn(&char) -> bool| {
        a(&sign[0]) && b(&sign[sign.len() - 1])
    };
    let joined = |three: &[char]| {
        "/.-@".contains(three[1])
            && between(three, char::is_ascii_alphanumeric, char::is_ascii_alphanumeric)
    };
    let camel = |two: &[char]| between(two, char::is_ascii_lowercase, char::is_ascii_uppercase);
    word.len() >= 4
        && word.contains(|c: char| c.is_ascii_alphabetic())
        && (word.contains(|c: char| c.is_ascii_digit() || c == '_')
            || chars.windows(2).any(camel)
            || chars.windows(3).any(joined))
}

proptest! {
    #[test]
    fn telling_words_are_as_defined(text in "([a-cA-C0-2_/.@-]{1,9}[ (é]){0,6}") {
        let runs = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_/.-@".contains(c)));
        let mut expected = Vec::new();
        for run in runs {
            let word = run.trim_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            if tells(word) {
                expected.push(key(word));
                let name = word.rsplit_once('/').map_or("", |(_, name)| name);
                expected.extend(Some(name).filter(|name| tells(name)).map(key));
            }
        }
        let mut found = Vec::new();
        telling(&text, |word| found.push(word));
        prop_assert_eq!(found, expected);
    }
}
