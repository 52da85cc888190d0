//! How a format is recognized: by members that the opening of a file holds.

use crate::peek::{Opening, Peek};
use crate::raw;

/// Members that only files of one format are likely to have together.
#[derive(Debug)]
pub(crate) struct Sign {
    /// How sure they make, 0 (not) to 100 (certain).
    pub(crate) sure: u8,
    members: &'static [Member],
    /// Paths below which all of them may stand.
    below: &'static [&'static str],
    /// How many of the first lines are looked at, each for itself; 0: the text is one value.
    lines: usize,
    /// Pointer to a value that has to stand in the text as well, however far behind its opening.
    anywhere: Option<&'static str>,
}

/// A member of the opening, at a path like `/messages/*/role`.
#[derive(Debug)]
pub(crate) enum Member {
    /// Anything stands there.
    Has(&'static str),
    /// Nothing stands there.
    Lacks(&'static str),
    /// One of these values stands there.
    Is(&'static str, &'static [&'static str]),
    /// A value stands there that begins with one of these.
    Begins(&'static str, &'static [&'static str]),
    /// Values stand there, and all of them are among these.
    Only(&'static str, &'static [&'static str]),
    /// Anything stands there from the top, wherever the others stand.
    Top(&'static str),
    /// All of these.
    All(&'static [Member]),
    /// One of these.
    Any(&'static [Member]),
}

impl Sign {
    pub(crate) const fn new(sure: u8, members: &'static [Member]) -> Self {
        Self { sure, members, below: &[""], lines: 0, anywhere: None }
    }

    /// The same members below one of these paths.
    pub(crate) const fn below(self, below: &'static [&'static str]) -> Self {
        Self { below, ..self }
    }

    /// The same members in one of the first lines.
    pub(crate) const fn lines(self, lines: usize) -> Self {
        Self { lines, ..self }
    }

    /// The same members in a text that holds a value at this pointer.
    pub(crate) const fn anywhere(self, pointer: &'static str) -> Self {
        Self { anywhere: Some(pointer), ..self }
    }

    /// Whether a text with this opening has the sign.
    pub(crate) fn is_on(&self, opening: &Opening<'_>) -> bool {
        let found = match self.lines {
            0 => self.is_in(opening.whole()),
            lines => opening.objects(lines).any(|line| self.is_in(line)),
        };
        found && self.anywhere.is_none_or(|pointer| raw::locate(opening.text(), pointer).is_ok())
    }

    fn is_in(&self, value: &Peek) -> bool {
        self.below.iter().any(|path| self.members.iter().all(|member| member.is_in(value, path)))
    }
}

impl Member {
    fn is_in(&self, value: &Peek, below: &str) -> bool {
        let at = |path: &str| format!("{below}{path}");
        match self {
            Self::Has(path) => value.has(&at(path)),
            Self::Lacks(path) => !value.has(&at(path)),
            Self::Is(path, known) => value.values(&at(path)).any(|found| known.contains(&found)),
            Self::Begins(path, known) => {
                let begins = |found: &str| known.iter().any(|begin| found.starts_with(begin));
                value.values(&at(path)).any(begins)
            }
            Self::Only(path, known) => {
                let path = at(path);
                let mut values = value.values(&path).peekable();
                values.peek().is_some() && values.all(|found| known.contains(&found))
            }
            Self::Top(path) => value.has(path),
            Self::All(members) => members.iter().all(|member| member.is_in(value, below)),
            Self::Any(members) => members.iter().any(|member| member.is_in(value, below)),
        }
    }
}
