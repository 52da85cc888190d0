//! Which lines a note takes, to the token. A note of so many tokens has 25.75 fewer for lines: its title takes them. A line takes a
//! token for 3.2 bytes and 1.5 more, and the first of a text a token for 3.2 bytes of its label and 5 more.

use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_testkit::talk::{self, append, at, sent_texts};

/// The lines of texts that were read that a note of so many tokens takes. Each word is worth 1,
/// and each block `block`.
fn note(tokens: u32, block: f32, read: &[(&str, &str)]) -> Vec<String> {
    note_again(tokens, block, 0.0, read)
}

/// The same where so much is left of a word that was said.
fn note_again(tokens: u32, block: f32, again: f32, read: &[(&str, &str)]) -> Vec<String> {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_indexed::REGISTRATION]);
    let note = (f64::from(tokens) + 0.5) / 2_500.0;
    let toml = format!(
        "name = \"t\"\nextends = \"indexed\"\n[guards]\nno-growth = false\n[estimator]\nuse = \"chars\"\n\
         unit = \"code-points\"\n[filter]\ntarget = 0.25\ntarget_tokens = 0\nnote = {note}\n\
         worth = {{ results = 0.0, recency = 0.0, block = {block:.1}, again = {again:.1} }}\n"
    );
    let strategy = talk::compiled(&registry, &toml);
    let mut talk = talk::conversation(strategy, Limits::new(10_000, 0));
    talk.append(Message::user("u", "Begin"));
    let newest = "x".repeat(10_000);
    let texts = read.iter().copied().chain([("newest", &*newest)]);
    for (number, (path, text)) in texts.enumerate() {
        let (id, path) = (format!("c{number}"), format!("{{\"path\":\"{path}\"}}"));
        let call = Message::assistant(format!("a{number}"), vec![Part::call(&id, "read", path)]);
        append(&mut talk, [call, Message::tool(format!("t{number}"), id, "read", text)]);
    }
    at(&mut talk, Moment::Manual);
    let texts = sent_texts(&talk);
    let note = texts.iter().find(|text| text.starts_with("[Earlier")).unwrap();
    let lines = note.lines().skip(1).filter(|line| !line.starts_with('▸'));
    lines.map(str::to_owned).collect()
}

/// A line of so many bytes.
fn line(begin: &str, bytes: usize) -> String {
    format!("{begin} {}", "a".repeat(bytes - begin.len() - 1))
}

#[test]
fn a_line_that_fits_exactly_is_taken() {
    // id, tokens, bytes of the line, whether it is taken; its label has 6 bytes
    for (id, tokens, bytes, taken) in [
        ("IX-N1 25.25 tokens for 25.25", 51, 54, true),
        ("IX-N2 a byte more", 51, 55, false),
        ("IX-N3 a token less", 50, 54, false),
    ] {
        let found = note(tokens, 0.0, &[("a", &line("word_1", bytes))]);
        assert_eq!(!found.is_empty(), taken, "{id}");
    }
}

#[test]
fn below_16_tokens_no_line_is_looked_for() {
    // id, bytes of the first line, lines taken; the second line takes 7.75 tokens
    for (id, bytes, taken) in [("IX-N4 16 tokens are left", 54, 2), ("IX-N5 15.6875 are", 55, 1)] {
        let text =
            format!("{}\n\n{}", line("word_1 word_2 word_3 word_4", bytes), line("word_5", 20));
        assert_eq!(note(67, 0.0, &[("a", &text)]).len(), taken, "{id}");
    }
}

#[test]
fn of_two_lines_that_are_worth_the_same_the_first_is_taken() {
    let [first, second] = ["word_1", "word_2"].map(|begin| line(begin, 54));
    let found = note(70, 0.0, &[("a", &first), ("b", &second)]);
    assert_eq!(found, [first], "IX-N6");
}

/// The last line has 2 to begin with, and half of it once the line before is taken, which has one of its words. That it has no more
/// than the first line then is no reason to look at that one.
#[test]
fn a_line_that_is_looked_at_stays_before_one_that_is_worth_the_same() {
    let lines = ["word_1", "word_2 word_3 word_4", "word_4 word_5"].map(|begin| line(begin, 54));
    let [first, second, third] = &lines;
    let found = note(77, 0.0, &[("a", first), ("b", second), ("c", third)]);
    assert_eq!(found, [second.clone(), third.clone()], "IX-N8");
}

/// A text is named once: its other blocks take less from then on.
#[test]
fn what_a_text_has_first_takes_less_once_the_text_is_named() {
    let [first, telling, other] = ["first", "word_1", "other"].map(|begin| line(begin, 40));
    let long = format!("{}.rs", "a".repeat(56));
    let text = format!("{first}\n\n{telling}");
    // The line with a word names its text, for 39 tokens. Of the 21.25 that are left the block before it takes 14, and the other text 20.875.
    let found = note(86, 1.0, &[(&long, &text), ("b", &other)]);
    assert_eq!(found, [first, telling], "IX-N7");
}

/// Of three lines of a text with room for two, the third has a word of its own.
#[test]
fn what_is_left_of_a_word_that_was_said() {
    let [first, second, third] =
        ["word_1 word_2", "word_1 word_2 ", "word_3"].map(|begin| line(begin, 54));
    let text = format!("{first}\n\n{second}\n\n{third}");
    // id, what is left, the lines that are taken
    for (id, again, taken) in [
        ("IX-N9 nothing", 0.0, [&first, &third]),
        ("IX-N10 less than half of two", 0.4, [&first, &third]),
        ("IX-N11 more than half of two", 0.6, [&first, &second]),
    ] {
        let found = note_again(73, 0.0, again, &[("a", &text)]);
        assert_eq!(found.iter().collect::<Vec<_>>(), taken, "{id}");
    }
}
