//! What a writer is given and gives back.

use crate::Session;
use foldback_core::Frame;
use foldback_core::view::{Shown, Stored};

/// A session together with what a strategy made of it.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The session that was read, with its source text.
    pub session: &'a Session,
    /// What was sent around the history.
    pub frame: &'a Frame,
    /// What the model would be sent, in order. `Shown::pos` is an index into `stored`.
    pub sent: Vec<Shown<'a>>,
    /// The whole history in stored order with its edits: log and entries, hidden ones included. A
    /// message that was read from the session is the session's own `Arc`, with its record and pointers.
    pub stored: Vec<Stored<'a>>,
}

/// What writing gave.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The text of the file.
    pub text: String,
    /// What the format could not hold, one line each.
    pub losses: Vec<String>,
}
