//! Checks a request message by message.

use super::ledger::{Change, Ledger, Rank};
use super::names::{MessageNames, Name, Names};
use super::pairing::Pairing;
use super::{Dialect, Violation, rule};
use crate::log::{Message, Part, PartKind, Role};
use crate::view::ShownMessage;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Checks a request that grows: fed message by message, asked at every call.
///
/// While a view only grows, a replay feeds what is new and pays for nothing twice. An edit inside a
/// message that was already fed is reported with [`Checker::recheck`]; a new layout needs a new checker.
#[derive(Clone, Debug)]
pub(super) struct Checker {
    dialect: Dialect,
    pairing: Pairing,
    found: Ledger,
    /// By message, the places of what it breaks whatever stands around it.
    content: FxHashMap<Name, Vec<Rank>>,
    /// Set when something was sent.
    started: bool,
    /// The message with the provider's own compaction: nothing before it is read.
    compacted: Option<Name>,
}

impl Checker {
    /// A checker that has seen nothing.
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            pairing: Pairing::new(dialect),
            found: Ledger::default(),
            content: FxHashMap::default(),
            started: false,
            compacted: None,
        }
    }

    /// Begins with another request, and knows what is different in it.
    pub(super) fn restart(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        *self = Self { found, ..Self::new(self.dialect) };
    }

    /// What came and went since this was asked before.
    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        self.found.take_changes()
    }

    /// The next message of the request.
    pub(super) fn push(&mut self, shown: &ShownMessage<'_>, named: &MessageNames) {
        let message = shown.message;
        // Anthropic and Gemini take system text apart from the conversation.
        let hoisted = message.role == Role::System
            && matches!(self.dialect, Dialect::Anthropic | Dialect::Gemini);
        if hoisted || !self.is_sent(shown) {
            return;
        }
        let unread = self.unread(message);
        if unread > 0 {
            self.restart();
            (self.started, self.compacted) = (true, Some(named.message));
        }
        if !self.started {
            self.started = true;
            self.check_first(shown, named.message);
        }
        if message.role == Role::Assistant {
            self.pairing.model(&mut self.found);
            for (part, call) in message.parts.iter().zip(&named.calls).skip(unread) {
                if let (PartKind::Call(_), Some(call)) = (&part.kind, call) {
                    self.pairing.call(named.message, *call, &mut self.found);
                }
            }
        } else {
            self.push_user(shown, named);
        }
        self.found.remove(Rank::Last);
        if self.dialect == Dialect::Anthropic && self.ends_in_space(shown) {
            self.found.add(|_| Rank::Last, rule::TRAILING_SPACE, named.message, None);
        }
        self.check_content(shown, named);
    }

    /// Looks again at a message that was fed before and was edited since. An edit that decides whether
    /// the message is sent at all (a text that becomes empty, or no longer is) needs a new checker.
    pub(super) fn recheck(&mut self, shown: &ShownMessage<'_>, named: &MessageNames) {
        for rank in self.content.remove(&named.message).unwrap_or_default() {
            self.found.remove(rank);
        }
        // Names are given in the order of the log.
        let read = self.compacted.is_none_or(|compacted| compacted <= named.message);
        if read && self.is_sent(shown) {
            self.check_content(shown, named);
        }
    }

    /// What is wrong with the request if it ends here.
    pub(super) fn violations(&self, names: &Names) -> Vec<Violation> {
        self.found.standing().map(|broken| broken.violation(self.dialect, names)).collect()
    }

    /// How many parts of a message Anthropic does not read, because its own compaction stands behind them, that one included.
    fn unread(&self, message: &Message) -> usize {
        let compacts = self.dialect == Dialect::Anthropic && message.role == Role::Assistant;
        let last = message.parts.iter().rposition(Part::is_compaction).filter(|_| compacts);
        last.map_or(0, |last| last + 1)
    }

    /// Results and everything else of a message that is not the model's, in order.
    fn push_user(&mut self, shown: &ShownMessage<'_>, named: &MessageNames) {
        for (index, part) in shown.message.parts.iter().enumerate() {
            match (&part.kind, named.calls[index]) {
                (PartKind::Result(_), Some(call)) => {
                    self.pairing.result(named.message, call, &mut self.found);
                }
                _ if self.sends(shown, index, part) => self.pairing.said(&mut self.found),
                _ => {}
            }
        }
    }

    /// Whether a part puts anything into the request.
    fn sends(&self, shown: &ShownMessage<'_>, index: usize, part: &Part) -> bool {
        match &part.kind {
            PartKind::Text { ignored: true, .. } => false,
            // Only the signed or encrypted form can be sent back, and Chat has no place for it.
            PartKind::Reasoning { opaque, .. } => {
                opaque.is_some() && self.dialect != Dialect::OpenAiChat
            }
            PartKind::Text { .. } | PartKind::Marker(_) => !shown.text_of(index).is_empty(),
            PartKind::Call(_)
            | PartKind::Result(_)
            | PartKind::File(_)
            | PartKind::Unknown { .. } => true,
        }
    }

    fn is_sent(&self, shown: &ShownMessage<'_>) -> bool {
        shown.message.parts.iter().enumerate().any(|(index, part)| self.sends(shown, index, part))
    }

    fn check_first(&mut self, shown: &ShownMessage<'_>, name: Name) {
        let message = shown.message;
        let refused = match self.dialect {
            Dialect::Anthropic => message.role == Role::Assistant,
            Dialect::Gemini => {
                message.role == Role::Assistant && message.call_ids().next().is_some()
            }
            Dialect::OpenAiChat | Dialect::OpenAiResponses => false,
        };
        if refused {
            self.found.add(|_| Rank::First, rule::FIRST_NOT_USER, name, None);
        }
    }

    fn ends_in_space(&self, shown: &ShownMessage<'_>) -> bool {
        let message = shown.message;
        message.role == Role::Assistant
            && message.parts.last().is_some_and(|part| {
                matches!(part.kind, PartKind::Text { ignored: false, .. })
                    && shown.text_of(message.parts.len() - 1).ends_with(char::is_whitespace)
            })
    }

    /// The rules that a message can break on its own.
    fn check_content(&mut self, shown: &ShownMessage<'_>, named: &MessageNames) {
        let message = shown.message;
        for (index, part) in message.parts.iter().enumerate() {
            match &part.kind {
                PartKind::Text { ignored: false, .. }
                    if self.dialect == Dialect::Anthropic
                        && shown.text_of(index).trim().is_empty() =>
                {
                    self.report(rule::EMPTY_TEXT, named, None);
                }
                PartKind::Reasoning { opaque: Some(_), .. }
                    if shown.edit(index).is_some() && self.sends(shown, index, part) =>
                {
                    self.report(rule::REASONING_ALTERED, named, None);
                }
                PartKind::Call(call) => {
                    let broken = shown
                        .edit(index)
                        .is_some_and(|edit| is_json(&call.arguments) && !is_json(&edit.text));
                    if broken {
                        self.report(rule::ARGUMENTS_BROKEN, named, named.calls[index]);
                    }
                }
                _ => {}
            }
        }
        if self.dialect == Dialect::Anthropic
            && message.role != Role::Assistant
            && message.parts.iter().any(Part::is_compaction)
        {
            self.report(rule::COMPACTION_MISPLACED, named, None);
        }
        if self.dialect == Dialect::OpenAiResponses && self.is_reasoning_alone(shown) {
            self.report(rule::REASONING_ALONE, named, None);
        }
    }

    /// Whether reasoning is all that a message sends.
    fn is_reasoning_alone(&self, shown: &ShownMessage<'_>) -> bool {
        let message = shown.message;
        message.role == Role::Assistant
            && message
                .parts
                .iter()
                .enumerate()
                .filter(|(index, part)| self.sends(shown, *index, part))
                .all(|(_, part)| matches!(part.kind, PartKind::Reasoning { .. }))
    }

    fn report(&mut self, rule: &'static str, named: &MessageNames, call: Option<Name>) {
        let rank = self.found.add(Rank::Content, rule, named.message, call);
        self.content.entry(named.message).or_default().push(rank);
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}
