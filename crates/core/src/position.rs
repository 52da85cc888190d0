//! Where messages and parts are: in a history, and in a view of it.

use serde::{Deserialize, Serialize};

/// A message of a history, by its place in stored order. Places never change: histories only grow.
pub type Pos = usize;

/// A part of a message of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PartPos {
    /// The message.
    pub item: Pos,
    /// Index of the part in it.
    pub part: usize,
}

/// A place in a view: a message of the history, or one that a layout inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The message of the history at this position.
    Item(Pos),
    /// The inserted message with this index.
    Insert(usize),
}

impl Place {
    /// The position of the message, if it is one of the history.
    pub fn item(self) -> Option<Pos> {
        match self {
            Self::Item(pos) => Some(pos),
            Self::Insert(_) => None,
        }
    }
}
