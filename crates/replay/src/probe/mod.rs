//! Questions about a session whose answers are exact strings of its log, for a model that sees no more than a view.
//!
//! They are made without a model, and the same session gives the same questions. The strings are found by rules, and most
//! questions are gaps: a line of the log with one piece left out, of which no other line of the log has another.
//!
//! | kind | what is asked for | what holds it |
//! |---|---|---|
//! | [`Kind::Edited`] | the file that was edited last, and first | a call |
//! | [`Kind::Failed`] | the failing test and the error line of the latest failure, and of the first | a result |
//! | [`Kind::Asked`] | a gap in a sentence of the user | the user |
//! | [`Kind::Forbade`] | the same in a sentence that forbids something | the user |
//! | [`Kind::Result`] | a gap in a line of a result: an identifier that stands in no other message | a result |
//! | [`Kind::Tried`] | the same in a command that was run | a call |
//! | [`Kind::Task`] | the first open item of the latest task list | a call |
//!
//! [`Kind::Own`] are questions that people bring. *Age* is the number of calls since the answer was last in the log: 1 where
//! the call before brought it. Every question has at least [`LEAST`] distractors: strings of the same kind from the same
//! session. [`questions`] takes them from strata of kind and age in turn, so that old facts are asked for as often as new
//! ones.
//!
//! A [`View`] is what a request would show at the moment of the questions, and what it has of an answer. [`score`] compares
//! answers without a model; [`figures`] sums them up. [`likelihood`] asks nothing: how likely is what the agent did next?

mod candidate;
mod choose;
mod facts;
pub mod figures;
mod gaps;
pub mod likelihood;
mod own;
pub mod score;
#[cfg(test)]
mod tests;
mod view;

pub use choose::questions;
pub use own::Own;
pub use view::{Moment, View};

use serde::Serialize;

/// Distractors that a question has at least.
pub(crate) const LEAST: usize = 2;

/// Distractors that a question has at most.
pub(crate) const MOST: usize = 3;

/// Upper ends of the strata of age; the last one is open. The first is what no sensible preset loses.
pub(crate) const AGES: [usize; 3] = [crate::judge::retention::FAR, 10, 50];

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A file that was edited.
    Edited,
    /// A failing test, or what a failure said.
    Failed,
    /// What the user said.
    Asked,
    /// What the user forbade.
    Forbade,
    /// A line of a result.
    Result,
    /// A command.
    Tried,
    /// The task list.
    Task,
    /// A question that somebody brought.
    Own,
}

/// What of the log holds the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holder {
    /// The user's words.
    User,
    /// A tool call.
    Call,
    /// A tool result.
    Result,
}

/// A part of the log that a question was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Id of the message.
    pub message: String,
    /// Index of the part in it.
    pub part: usize,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked for.
    pub kind: Kind,
    /// What holds the answer; unknown for a question that somebody brought.
    pub holder: Option<Holder>,
    /// Calls since the answer was last in the log; unknown where it never was.
    pub age: Option<usize>,
    /// The question.
    pub text: String,
    /// The answer.
    pub expected: String,
    /// Other ways to say it: the line with its gap filled.
    pub also: Vec<String>,
    /// Whether the answer is a path, of which an ending may do.
    pub path: bool,
    /// Wrong answers of the same kind.
    pub distractors: Vec<String>,
    /// Where it was made from; unknown for a question that somebody brought.
    pub place: Option<Place>,
}

impl Question {
    /// Without what the log has to say about it.
    fn new(kind: Kind, holder: Option<Holder>, text: String, expected: String) -> Self {
        let (also, distractors) = (Vec::new(), Vec::new());
        let (age, place, path) = (None, None, false);
        Self { kind, holder, age, text, expected, also, path, distractors, place }
    }

    /// Names it by what it asks, the same in every run: the first 12 hexadecimal digits of a hash.
    pub fn id(&self) -> String {
        hash(&self.text, &self.expected).to_hex().as_str().chars().take(12).collect()
    }

    /// The answer among its distractors, in an order that tells nothing.
    pub fn options(&self) -> Vec<&str> {
        let mut options: Vec<&str> =
            self.distractors.iter().map(String::as_str).chain([self.expected.as_str()]).collect();
        options.sort_by_cached_key(|option| *hash(&self.text, option).as_bytes());
        options
    }
}

/// Of a question and an answer to it: names the one, and orders the other without a meaning.
fn hash(question: &str, answer: &str) -> blake3::Hash {
    blake3::hash(format!("{question}\n{answer}").as_bytes())
}

/// The stratum of an age, `1–3`.
pub(crate) fn age_band(age: usize) -> String {
    let mut from = 1;
    for to in AGES {
        if age <= to {
            return format!("{from}–{to}");
        }
        from = to + 1;
    }
    format!("{from}+")
}
