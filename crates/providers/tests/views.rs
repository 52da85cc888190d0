//! Views of a request's messages, as folds make them.

use foldback_core::log::{EntryKind, Message, Origin, Part, PartKind, Role};
use foldback_core::view::{EditKind, PartEdit, ShownMessage};
use std::sync::Arc;

/// What a fold puts over the messages: those before `from` are hidden behind a summary, and of the results that stay
/// every `nth` is cleared.
pub(crate) struct Fold {
    pub(crate) from: usize,
    summary: Arc<Message>,
    cleared: PartEdit,
    nth: usize,
}

/// All of them, as they are.
pub(crate) fn all(messages: &[Arc<Message>]) -> Vec<ShownMessage<'_>> {
    messages.iter().map(ShownMessage::plain).collect()
}

pub(crate) const CLEARED: &str = "[cleared: \"é\"]";

impl Fold {
    /// A fold at the user's message that is nearest in front of `at`.
    pub(crate) fn new(messages: &[Arc<Message>], at: usize, nth: usize) -> Self {
        let at = at.min(messages.len() - 1);
        let from = (0..=at).rev().find(|index| messages[*index].role == Role::User).unwrap_or(0);
        let mut summary = Message::user("summary", "What happened before.");
        summary.origin = Origin::Entry(EntryKind::Summary);
        let cleared = PartEdit { kind: EditKind::Clear, text: CLEARED.into(), at: 0 };
        Self { from, summary: Arc::new(summary), cleared, nth }
    }

    /// What is sent.
    pub(crate) fn sent<'a>(&'a self, messages: &'a [Arc<Message>]) -> Vec<ShownMessage<'a>> {
        let summary = (self.from > 0).then(|| ShownMessage::plain(&self.summary));
        let mut results = 0;
        let kept = messages[self.from..].iter().map(|message| {
            let mut shown = ShownMessage::plain(message);
            let is_result = |part: &Part| matches!(part.kind, PartKind::Result(_));
            if let Some(part) = message.parts.iter().position(is_result) {
                results += 1;
                if results % self.nth == 0 {
                    shown.edits.push((part, &self.cleared));
                }
            }
            shown
        });
        summary.into_iter().chain(kept).collect()
    }
}
