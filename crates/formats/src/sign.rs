//! How a format is recognized: by members that the opening of a file holds.

use crate::peek::{Opening, Peek};
use crate::raw;

/// Members that only files of one format are likely to have together.
#[derive(Debug)]
pub(crate) struct Sign {
    /// How sure they make, 0 (not) to 100 (certain).
    pub(crate) sure: u8,
    members: &'static [Member],
    /// Paths below which the members stand; any will do.
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
    /// A listed value stands there.
    Is(&'static str, &'static [&'static str]),
    /// A value with a listed beginning stands there.
    Begins(&'static str, &'static [&'static str]),
    /// Only listed values stand there.
    Only(&'static str, &'static [&'static str]),
    /// Anything stands at this path from the top of the value.
    Top(&'static str),
    /// Every one of several.
    All(&'static [Member]),
    /// At least one of several.
    Any(&'static [Member]),
}

impl Sign {
    pub(crate) const fn new(sure: u8, members: &'static [Member]) -> Self {
        Self { sure, members, below: &[""], lines: 0, anywhere: None }
    }

    /// The members may stand below any of the paths.
    pub(crate) const fn below(self, below: &'static [&'static str]) -> Self {
        Self { below, ..self }
    }

    /// A single line among the first ones has the members.
    pub(crate) const fn lines(self, lines: usize) -> Self {
        Self { lines, ..self }
    }

    /// The text also has a value at the pointer.
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
