//! The input and output of writers.

use crate::Session;
use foldback_core::log::Message;
use foldback_core::validity::Violation;
use foldback_core::view::{PartEdit, PartPos, ShownMessage, Stored};
use foldback_core::{Frame, SegmentKind};
use serde_json::Value;
use std::collections::HashMap;

/// A session together with what a strategy made of it.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The session that was read, with its source text.
    pub session: &'a Session,
    /// The frame that was sent around the history.
    pub frame: &'a Frame,
    /// The size of an unrecorded frame, in tokens.
    pub unrecorded: u64,
    /// The messages for the model, in order. `ShownMessage::pos` is an index into `stored`.
    pub sent: Vec<ShownMessage<'a>>,
    /// The whole history in stored order with its edits: log and entries, hidden ones included. A
    /// message that was read from the session is the session's own `Arc`, with its record and pointers.
    pub stored: Vec<Stored<'a>>,
}

impl<'a> View<'a> {
    /// What is sent, with the edits in the text.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.sent.iter().map(ShownMessage::to_message).collect()
    }

    /// Whether all stored messages are sent, in their order.
    pub(crate) fn shows_all(&self) -> bool {
        self.sent.len() == self.stored.len()
            && self.sent.iter().enumerate().all(|(index, shown)| shown.pos == Some(index))
    }

    /// Whether a message is the first that is sent.
    pub(crate) fn begins_with(&self, shown: &ShownMessage<'_>) -> bool {
        self.sent.first().is_some_and(|first| std::ptr::eq(first.message, shown.message))
    }

    /// The system prompts that say anything.
    pub(crate) fn system(&self) -> impl Iterator<Item = &'a str> {
        let segments = self.frame.segments().iter();
        let system = segments.filter(|segment| segment.kind == SegmentKind::System);
        system.map(|segment| segment.text.as_str()).filter(|text| !text.is_empty())
    }

    /// The system prompts as messages that `make` makes; what else stands around the history goes to `losses`.
    pub(crate) fn prompts(&self, losses: &mut Vec<String>, make: fn(&str) -> Value) -> Vec<Value> {
        let segments = self.frame.segments().iter();
        let made = segments.filter_map(|segment| match &segment.kind {
            SegmentKind::System => Some(make(&segment.text)),
            kind => {
                losses.push(format!("the segment {} around the history", kind.as_str()));
                None
            }
        });
        made.collect()
    }

    /// The session as its recorder left it: every message in stored order, nothing hidden, `edits`
    /// (see [`Session::recorded_edits`]) laid over. Written in the session's own format it is the
    /// file that was read.
    pub fn recorded(session: &'a Session, edits: &'a [(PartPos, PartEdit)]) -> Self {
        let mut of_message: HashMap<usize, Vec<(usize, &PartEdit)>> = HashMap::new();
        for (at, edit) in edits {
            of_message.entry(at.item).or_default().push((at.part, edit));
        }
        let sent: Vec<ShownMessage<'a>> = (0..)
            .zip(&session.messages)
            .map(|(item, message)| {
                let edits = of_message.remove(&item).unwrap_or_default();
                ShownMessage { message, pos: Some(item), edits }
            })
            .collect();
        Self::all_visible(session, sent)
    }

    /// A view that sends everything that it stores.
    pub(crate) fn all_visible(session: &'a Session, sent: Vec<ShownMessage<'a>>) -> Self {
        let stored = sent.iter().map(|shown| Stored { shown: shown.clone(), visible: true });
        Self { session, frame: &session.frame, unrecorded: 0, stored: stored.collect(), sent }
    }
}

/// The result of writing.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The text of the file.
    pub text: String,
    /// Losses: content that the format has no place for, one line each.
    pub losses: Vec<String>,
    /// The provider rules that the sent request breaks.
    pub breaks: Vec<Violation>,
}
