//! A question that may be asked.

use super::{Holder, Kind, Question};
use crate::read::index::LogPart;
use std::sync::Arc;

/// What stands in the place of the piece.
pub(super) const GAP: &str = "____";

/// Strings of one kind.
pub(super) type Pool = Arc<[String]>;

/// A question that may be asked.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// As far as it is known before the log was looked through.
    pub(super) question: Question,
    pub(super) at: LogPart,
    pub(super) pool: Pool,
    /// Before and behind the gap, if it is one.
    pub(super) around: Option<(String, String)>,
}

impl Candidate {
    pub(super) fn new(
        (kind, holder, at): (Kind, Holder, LogPart),
        text: String,
        expected: String,
        pool: Pool,
    ) -> Self {
        let question = Question::new(kind, Some(holder), text, expected);
        Self { question, at, pool, around: None }
    }

    /// The same where the answer may be a path.
    pub(super) fn path(mut self, path: bool) -> Self {
        self.question.path = path;
        self
    }

    /// A line without a piece that stands in it once. The whole line is an answer, too.
    pub(super) fn gap(at: (Kind, Holder, LogPart), line: &str, piece: &str, pool: Pool) -> Self {
        let (before, behind) = line.split_once(piece).unwrap_or((line, ""));
        let what = match at.1 {
            Holder::User => "The user wrote",
            Holder::Call => "The agent ran a command with this line",
            Holder::Result => "A tool result had this line",
        };
        let text = format!(
            "{what}, here with a gap marked {GAP}:\n\n{before}{GAP}{behind}\n\nWhat stood in the gap?"
        );
        let mut gap = Self::new(at, text, piece.to_owned(), pool);
        gap.question.also.push(line.to_owned());
        Self { around: Some((before.to_owned(), behind.to_owned())), ..gap }
    }
}
