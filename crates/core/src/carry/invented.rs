//! Rules that nobody gave: a model that summarizes may turn what a file says, or what it had in mind itself, into an order.

use crate::frame::Frame;
use crate::log::{Message, Role, sentences};
use regex::Regex;
use std::sync::LazyLock;

/// An order to leave something. What follows "never" tells whether it is one: "never touch", and not "never matches".
static ORDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)\b(?:must not|mustn['’]t)\b|(?:^|[-–—.,:;!?(>•]|\b(?:please|and|but|or|also|just|then|so|must|should))\s*[*_"“]*(?:never(?:\s+(\w+))?|(?:do not|don['’]t)\b)"#,
    )
    .ok()
});

/// The sentences of a summary that forbid something and have names (paths, symbols, code) of which neither the user nor the frame
/// says any. `log` is what was said before.
pub fn invented<'m>(
    summary: &str,
    frame: &Frame,
    log: impl Iterator<Item = &'m Message>,
) -> Vec<String> {
    let named = sentences(summary).filter(|sentence| forbids(sentence));
    let named = named.map(|sentence| (sentence, names(sentence)));
    let mut found: Vec<_> = named.filter(|(_, names)| !names.is_empty()).collect();
    let is_told = |message: &&Message| {
        matches!(message.role, Role::User | Role::System) && !message.is_entry()
    };
    let told = frame.segments().iter().map(|segment| segment.text.clone());
    for told in told.chain(log.filter(is_told).map(Message::said)) {
        if found.is_empty() {
            break;
        }
        found.retain(|(_, names)| !names.iter().any(|name| told.contains(name)));
    }
    found.into_iter().map(|(sentence, _)| sentence.to_owned()).collect()
}

fn forbids(sentence: &str) -> bool {
    let orders = ORDER.iter().flat_map(|order| order.captures_iter(sentence));
    let mut verbs = orders.map(|order| order.get(1).map_or("", |verb| verb.as_str()));
    verbs.any(|verb| {
        let tells = verb.ends_with('s') && !verb.ends_with("ss");
        !(tells || verb.len() > 5 && verb.ends_with("ed"))
    })
}

/// Code between backticks, and words that look like a path, a symbol or an option.
fn names(sentence: &str) -> Vec<&str> {
    let code = sentence.split('`').skip(1).step_by(2).filter(|code| code.len() > 2);
    let ends = |c: char| c.is_whitespace() || "`\"'(),;<>[]{}*“”‘’".contains(c);
    let words = sentence.split(ends).map(|word| word.trim_matches(['.', ':', '!', '?', '—']));
    code.chain(words.filter(|word| is_name(word))).collect()
}

fn is_name(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    let pair = |test: fn(char, char) -> bool| chars.windows(2).any(|pair| test(pair[0], pair[1]));
    let is_path =
        word.contains('/') && (word.starts_with(['/', '.', '~']) || word.matches('/').count() > 1);
    let has_end = chars.windows(3).any(|of| {
        of[0] == '.' && of[1..].iter().all(|c| c.is_ascii_alphabetic()) && chars[0] != '.'
    });
    let joined = |a: char, b: char| a.is_alphanumeric() && b == '_';
    word.len() > 2
        && (is_path
            || has_end
            || word.contains("::")
            || (word.starts_with("--") && word.len() > 3)
            || pair(joined)
            || pair(|a, b| a.is_lowercase() && b.is_uppercase()))
}
