//! Answers compared with what was expected, without a model.
//!
//! Two texts are the same if they are once white space is one blank, quotes, backticks, asterisks and a point at the ends
//! are off, a leading `./` is off, and case is left aside. A path is also right where one is the end of the other, on a
//! component boundary (see [`same_path`]). Nothing else is right: an answer that says more is not.

use super::Question;
use crate::read::identifiers::same_path;
use serde::Serialize;

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The string itself.
    Exact,
    /// A letter of the options.
    Choice,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The expected answer.
    Right,
    /// Another one.
    Wrong,
    /// The model said that it can't tell.
    Unknown,
    /// An answer in another form than was asked for.
    Form,
    /// No text.
    Empty,
    /// The provider or the model refused.
    Refused,
    /// It does not fit into the model's window; it was not asked.
    TooLarge,
    /// There was no answer in time.
    Late,
}

impl Outcome {
    /// Whether the model was asked: what it was not asked counts for nothing.
    pub(crate) fn is_asked(self) -> bool {
        self != Self::TooLarge
    }
}

/// What a model says that can't tell.
pub(crate) const UNKNOWN: &str = "UNKNOWN";

/// Before the answer, on its line.
pub(crate) const ANSWER: &str = "ANSWER:";

/// Before the arguments of the tool that looks things up, on its line.
pub const RECALL: &str = "RECALL:";

/// Where a model looks something up instead of answering: what it wrote up to there, and the arguments. A line behind it is
/// what the model made up of the result.
pub fn recalled(text: &str) -> Option<(&str, &str)> {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if behind(line.trim(), ANSWER).is_some() {
            return None;
        }
        if let Some(arguments) = behind(line.trim(), RECALL) {
            let arguments = arguments.trim_end_matches(['*', '`', ' ']);
            return Some((text[..end].trim_end(), arguments));
        }
    }
    None
}

/// What comes of a text that a model gave, and the answer in it.
pub fn score(question: &Question, form: Form, text: &str) -> (Outcome, String) {
    if text.trim().is_empty() {
        return (Outcome::Empty, String::new());
    }
    let Some(answer) = answer_in(text) else {
        return (Outcome::Form, text.trim().to_owned());
    };
    let outcome = match form {
        _ if plain(answer) == plain(UNKNOWN) => Outcome::Unknown,
        Form::Exact if is_right(question, answer) => Outcome::Right,
        Form::Exact => Outcome::Wrong,
        Form::Choice => match chosen(question, answer) {
            Some(option) if option == question.expected => Outcome::Right,
            Some(_) => Outcome::Wrong,
            None => Outcome::Form,
        },
    };
    (outcome, answer.to_owned())
}

/// The answer in a text: behind the last [`ANSWER`] or on the line after it, else the only line.
fn answer_in(text: &str) -> Option<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let marked =
        lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, behind(line, ANSWER)?)));
    match (marked, lines.as_slice()) {
        (Some((at, "")), _) => lines.get(at + 1).copied(),
        (Some((_, answer)), _) => Some(answer),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// What stands behind a word at the beginning of a line, however it is emphasized.
fn behind<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let bare = line.trim_start_matches(['*', '#', '>', ' ', '`']);
    let (start, rest) = bare.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then(|| rest.trim_start_matches(['*', ' ']))
}

/// The option that an answer names, by its letter or in its words.
fn chosen<'q>(question: &'q Question, answer: &str) -> Option<&'q str> {
    let options = question.options();
    let mut words = options.iter().filter(|option| plain(option) == plain(answer));
    if let Some(option) = words.next() {
        return Some(option);
    }
    let bare = answer.trim_start_matches(['(', '[', '*', '`', '"', '\'']);
    let letter = bare.chars().next()?.to_ascii_uppercase();
    // A letter alone, not the beginning of a word.
    let ends = bare.chars().nth(1).is_none_or(|next| !next.is_alphanumeric());
    let at = usize::try_from(u32::from(letter).checked_sub(u32::from('A'))?).ok()?;
    // A letter before the words of another option names neither.
    let words =
        bare.get(1..).map_or("", |rest| rest.trim_start_matches(['.', ')', ']', ':', ' ', '*']));
    let named = options.iter().position(|option| plain(option) == plain(words));
    options.get(at).copied().filter(|_| ends && named.is_none_or(|named| named == at))
}

/// Whether an answer is the expected one.
pub(super) fn is_right(question: &Question, answer: &str) -> bool {
    let given = plain(answer);
    let mut ways = question.also.iter().chain([&question.expected]);
    ways.any(|way| plain(way) == given)
        || (question.path && !given.is_empty() && same_path(&plain(&question.expected), &given))
}

/// A text as it is compared.
pub(super) fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let quote = |c: char| matches!(c, '"' | '\'' | '`' | '*' | '“' | '”' | '‘' | '’');
    let text = text.trim_matches(quote);
    let text = text.strip_suffix('.').unwrap_or(text).trim_matches(quote);
    text.strip_prefix("./").unwrap_or(text).trim().to_owned()
}

/// Whether a string stands in a text, not as a piece of a longer word or number.
pub(crate) fn stands_in(text: &str, string: &str) -> bool {
    if string.is_empty() {
        return false;
    }
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let first = string.chars().next().is_some_and(in_word);
    let last = string.chars().next_back().is_some_and(in_word);
    text.match_indices(string).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(in_word);
        let after = text[at + string.len()..].chars().next().is_some_and(in_word);
        !(first && before || last && after)
    })
}
