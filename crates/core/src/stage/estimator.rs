//! How many tokens is this?

use crate::log::{Counts, Message, Part, PartKind};
use std::fmt;
use std::sync::Arc;

/// Counts tokens. Pure and deterministic.
///
/// An estimator is part of a strategy's identity: unit, rounding and overheads differ between the
/// systems, every reported number carries [`Estimator::id`], and numbers of two estimators are
/// never subtracted from each other.
pub trait Estimator: Send + Sync + fmt::Debug {
    /// Names everything that the counts depend on, e.g. `chars(utf16)/4 half-up`.
    fn id(&self) -> &Arc<str>;

    /// Tokens of a bare text.
    fn text(&self, text: &str) -> u64;

    /// Tokens of a part that shows `shown` (its own text, or what an edit put in its place).
    fn part(&self, part: &Part, shown: &str) -> u64 {
        match &part.kind {
            PartKind::Call(call) => self.text(&call.tool) + self.text(shown),
            PartKind::File(_) => 0,
            _ => self.text(shown),
        }
    }

    /// Tokens of a tool result that shows `shown` and holds neither files nor anything structured, where
    /// they depend on the text alone. Whoever clears thousands of results then looks at no message.
    fn result(&self, shown: &str) -> Option<u64> {
        let _ = shown;
        None
    }

    /// Tokens of a message outside its parts.
    fn overhead(&self, message: &Message) -> u64 {
        let _ = message;
        0
    }

    /// Tokens of every request outside its messages and its frame, for estimators that know of
    /// something that no recording holds. Counted with the frame.
    fn per_request(&self) -> u64 {
        0
    }

    /// All counts of a message as it was recorded.
    fn count(&self, message: &Message) -> Counts {
        Counts {
            parts: message.parts.iter().map(|part| self.part(part, &part.shown())).collect(),
            overhead: self.overhead(message),
        }
    }

    /// All counts of a message, made once and kept with the message.
    fn counts<'m>(&self, message: &'m Message) -> &'m Counts {
        message.counts.get_or_count(self.id(), || self.count(message))
    }
}

/// Counts letters, for the tests of other modules.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Letters(pub(crate) Arc<str>);

#[cfg(test)]
impl Estimator for Letters {
    fn id(&self) -> &Arc<str> {
        &self.0
    }

    fn text(&self, text: &str) -> u64 {
        text.chars().count() as u64
    }
}
