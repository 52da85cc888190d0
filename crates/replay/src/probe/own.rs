//! Questions that people bring, one JSON object a line.

use super::choose::Log;
use super::{Kind, Moment, Question};
use serde::Deserialize;

/// A question of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    question: String,
    answer: String,
    /// Other right answers.
    #[serde(default)]
    also: Vec<String>,
    /// Wrong answers to choose among; without any there is no choice.
    #[serde(default)]
    distractors: Vec<String>,
    /// Whether the answer is a path, of which an ending may do.
    #[serde(default)]
    path: bool,
    /// Path or id of the session that it is about; every session without it.
    session: Option<String>,
}

/// Questions of a file.
#[derive(Clone, Debug, Default)]
pub struct Own(Vec<Line>);

impl Own {
    /// Reads lines such as `{"question": "Which port?", "answer": "8080", "distractors": ["80", "443"]}`.
    ///
    /// # Errors
    ///
    /// The number of the line that can't be used, and why.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let read: Line =
                serde_json::from_str(line).map_err(|error| format!("{number}: {error}"))?;
            if [&read.question, &read.answer].iter().any(|text| text.trim().is_empty()) {
                return Err(format!("{number}: a question and an answer must not be empty"));
            }
            if read.distractors.contains(&read.answer) {
                return Err(format!("{number}: the answer is among its distractors"));
            }
            lines.push(read);
        }
        Ok(Self(lines))
    }

    /// Those about a session, which has this path.
    pub fn about(&self, path: &str, moment: &Moment) -> Vec<Question> {
        let meant = |line: &&Line| {
            let session = line.session.as_deref();
            session.is_none_or(|session| session == path || session == moment.id())
        };
        let meant: Vec<&Line> = self.0.iter().filter(meant).collect();
        if meant.is_empty() {
            return Vec::new();
        }
        let log = Log::new(moment.log(), moment.call());
        let question = |line: &Line| {
            let Line { question, answer, also, distractors, path, .. } = line.clone();
            let age = log.last(&answer);
            let asked = Question::new(Kind::Own, None, question, answer);
            Question { age, also, path, distractors, ..asked }
        };
        meant.into_iter().map(question).collect()
    }
}
