//! What the model would be sent now: the history seen through the committed folds.
//!
//! A view is an overlay. It holds the order of what is shown and the edits laid over single parts,
//! never a copy of a message.

use crate::log::{Message, Part, PartKind};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

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

/// How an edited part differs from the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EditKind {
    /// The content was replaced by a placeholder.
    Clear,
    /// The content was cut.
    Truncate,
}

/// What a part shows instead of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEdit {
    /// Cleared or cut.
    pub kind: EditKind,
    /// What is shown instead.
    pub text: Arc<str>,
    /// When it was edited, by the injected clock, in milliseconds since the Unix epoch.
    pub at: i64,
}

/// One message as the model would be sent it.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    /// The message underneath.
    pub message: &'a Arc<Message>,
    /// Its place in the history; `None` for a message that a layout inserted into the view alone.
    pub pos: Option<Pos>,
    /// The edits over it, by part index, ascending.
    pub edits: Vec<(usize, &'a PartEdit)>,
}

impl<'a> Shown<'a> {
    /// A message shown as it is.
    pub fn plain(message: &'a Arc<Message>) -> Self {
        Self {
            message,
            pos: None,
            edits: Vec::new(),
        }
    }

    /// The edit over a part, if there is one.
    pub fn edit(&self, part: usize) -> Option<&'a PartEdit> {
        self.edits
            .iter()
            .find(|(index, _)| *index == part)
            .map(|(_, edit)| *edit)
    }

    /// What a part shows: the edit's text, else its own.
    pub fn text_of(&self, part: usize) -> Cow<'a, str> {
        match self.edit(part) {
            Some(edit) => Cow::Borrowed(&*edit.text),
            None => self
                .message
                .parts
                .get(part)
                .map_or(Cow::Borrowed(""), Part::shown),
        }
    }

    /// The message as it would be sent: edits applied, parts that are never sent left out.
    pub fn to_message(&self) -> Message {
        let mut message = Message::clone(self.message);
        for (index, edit) in &self.edits {
            if let Some(part) = message.parts.get_mut(*index) {
                replace_text(part, &edit.text);
            }
        }
        message
            .parts
            .retain(|part| !matches!(part.kind, PartKind::Text { ignored: true, .. }));
        message
    }
}

fn replace_text(part: &mut Part, with: &str) {
    match &mut part.kind {
        PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => *text = with.to_owned(),
        PartKind::Call(call) => call.arguments = with.to_owned(),
        PartKind::Result(result) => {
            result.text = with.to_owned();
            result.structured = None;
        }
        PartKind::Marker(marker) => marker.text = with.to_owned(),
        PartKind::File(_) | PartKind::Unknown { .. } => {}
    }
}

/// One message of a history with what is laid over it, whether the view shows it or not. This is
/// what a program that keeps its whole history would have in its store.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    /// The message with its edits.
    pub shown: Shown<'a>,
    /// Whether the view shows it.
    pub visible: bool,
}
