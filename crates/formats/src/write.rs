//! What a writer is given and gives back.

use crate::Session;
use foldback_core::Frame;
use foldback_core::view::{PartEdit, PartPos, Shown, Stored};

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

impl<'a> View<'a> {
    /// The session as its recorder left it: every message in stored order, nothing hidden, `edits`
    /// (see [`Session::recorded_edits`]) laid over. Written in the session's own format it is the
    /// file that was read.
    pub fn recorded(session: &'a Session, edits: &'a [(PartPos, PartEdit)]) -> Self {
        let sent: Vec<Shown<'a>> = session
            .messages
            .iter()
            .enumerate()
            .map(|(item, message)| Shown {
                message,
                pos: Some(item),
                edits: edits
                    .iter()
                    .filter(|(at, _)| at.item == item)
                    .map(|(at, edit)| (at.part, edit))
                    .collect(),
            })
            .collect();
        Self {
            session,
            frame: &session.frame,
            stored: sent
                .iter()
                .map(|shown| Stored { shown: shown.clone(), visible: true })
                .collect(),
            sent,
        }
    }
}

/// What writing gave.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The text of the file.
    pub text: String,
    /// What the format could not hold, one line each.
    pub losses: Vec<String>,
}
