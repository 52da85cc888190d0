//! A request as a client sends it, and which of its messages are not the engine's.

use super::identity::Key;
use foldback_core::log::{Message, Part, Role};
use foldback_core::{Frame, Limits, SegmentKind};
use foldback_providers::wire::Request;
use std::sync::Arc;

/// All messages of a conversation, as a client sends them with its next request.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The messages.
    pub messages: &'a [Arc<Message>],
    /// Their [keys](super::identity::keys).
    pub keys: &'a [Key],
    /// System prompt and tools.
    pub frame: &'a Frame,
    /// The model that is asked.
    pub model: Option<&'a str>,
    /// Its limits.
    pub limits: Limits,
}

impl<'a> Received<'a> {
    /// What a request holds.
    pub fn new(request: &'a Request, keys: &'a [Key], limits: Limits) -> Self {
        let (messages, frame) = (request.messages(), request.frame());
        Self { messages, keys, frame, model: request.model(), limits }
    }
}

/// How many leading messages of a request are not the engine's: up to the last item in which the provider compacted,
/// and the results that follow it.
pub fn base_of(messages: &[Arc<Message>]) -> usize {
    let compacted = |message: &Arc<Message>| message.parts.iter().any(Part::is_compaction);
    let Some(last) = messages.iter().rposition(compacted) else { return 0 };
    let behind = messages[last + 1..].iter().take_while(|message| message.role == Role::Tool);
    last + 1 + behind.count()
}

/// The frame of a request, with what the provider reads of the messages before `base`: its own compaction and on.
pub fn frame_of(frame: &Frame, messages: &[Arc<Message>], base: usize) -> Frame {
    let mut frame = frame.clone();
    let before = &messages[..base];
    if let Some(compacted) = before.iter().rposition(|message| message.role != Role::Tool) {
        let texts = before[compacted..].iter().map(|message| message.shown_text());
        frame.push_text(SegmentKind::named("compacted"), texts.collect::<String>());
    }
    frame
}

/// The size of a request before and after folding, in tokens of the strategy's estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// As the client sent it.
    pub received: u64,
    /// As the view shows it.
    pub sent: u64,
    /// Folds in force.
    pub folds: u64,
}
