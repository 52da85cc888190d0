//! A question that may be asked.

use super::{Holder, Kind};
use crate::read::index::LogPart;
use std::sync::Arc;

/// What stands in the place of the piece.
pub(super) const GAP: &str = "____";

/// Strings of one kind.
pub(super) type Pool = Arc<[String]>;

/// A question that may be asked.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) kind: Kind,
    pub(super) holder: Holder,
    pub(super) at: LogPart,
    pub(super) text: String,
    pub(super) expected: String,
    pub(super) also: Vec<String>,
    pub(super) path: bool,
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
        let also = Vec::new();
        Self { kind, holder, at, text, expected, also, path: false, pool, around: None }
    }

    /// The same where the answer may be a path.
    pub(super) fn path(self, path: bool) -> Self {
        Self { path, ..self }
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
        Self {
            also: vec![line.to_owned()],
            around: Some((before.to_owned(), behind.to_owned())),
            ..Self::new(at, text, piece.to_owned(), pool)
        }
    }
}
