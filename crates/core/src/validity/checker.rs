//! Checks a request message by message.

use super::pairing::Pairing;
use super::{Dialect, Violation, rule};
use crate::log::{Part, PartKind, Role};
use crate::view::Shown;
use serde_json::Value;

/// Checks a request that grows: fed message by message, asked at every call.
///
/// While a view only grows, a replay feeds what is new and pays for nothing twice. An edit inside a
/// message that was fed already is told by [`Checker::recheck`]; a new layout needs a new checker.
#[derive(Clone, Debug)]
pub struct Checker {
    dialect: Dialect,
    pairing: Pairing,
    /// What single messages break, whatever stands around them.
    content: Vec<Violation>,
    first: Option<Violation>,
    /// Set when something was sent.
    started: bool,
    /// The last message sent, where it is the model's and ends in white space.
    trailing_space: Option<String>,
}

impl Checker {
    /// A checker that has seen nothing.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            pairing: Pairing::new(dialect),
            content: Vec::new(),
            first: None,
            started: false,
            trailing_space: None,
        }
    }

    /// The next message of the request.
    pub fn push(&mut self, shown: &Shown<'_>) {
        let message = shown.message;
        // Anthropic and Gemini take system text apart from the conversation.
        let hoisted = message.role == Role::System
            && matches!(self.dialect, Dialect::Anthropic | Dialect::Gemini);
        if hoisted || !self.is_sent(shown) {
            return;
        }
        if !self.started {
            self.started = true;
            self.first = self.check_first(shown);
        }
        if message.role == Role::Assistant {
            self.pairing.model();
            for call in message.parts.iter().filter_map(Part::as_call) {
                self.pairing.call(&message.id, &call.call_id);
            }
        } else {
            self.push_user(shown);
        }
        self.trailing_space = self.ends_in_space(shown).then(|| message.id.clone());
        self.check_content(shown);
    }

    /// Looks again at a message that was fed before and was edited since. An edit that decides whether
    /// the message is sent at all (a text that becomes empty, or no longer is) needs a new checker.
    pub fn recheck(&mut self, shown: &Shown<'_>) {
        self.content.retain(|violation| violation.message != shown.message.id);
        if self.is_sent(shown) {
            self.check_content(shown);
        }
    }

    /// What is wrong with the request if it ends here.
    pub fn violations(&self) -> Vec<Violation> {
        let trailing = self
            .trailing_space
            .as_ref()
            .filter(|_| self.dialect == Dialect::Anthropic)
            .map(|message| Violation {
                dialect: self.dialect,
                rule: rule::TRAILING_SPACE,
                message: message.clone(),
                call: None,
                detail: "the request ends with a model message that ends in white space".to_owned(),
            });
        self.first
            .iter()
            .cloned()
            .chain(self.pairing.violations())
            .chain(self.content.iter().cloned())
            .chain(trailing)
            .collect()
    }

    /// Results and everything else of a message that is not the model's, in order.
    fn push_user(&mut self, shown: &Shown<'_>) {
        let message = shown.message;
        for (index, part) in message.parts.iter().enumerate() {
            match part.as_result() {
                Some(result) => self.pairing.result(&message.id, &result.call_id),
                None if self.sends(shown, index, part) => self.pairing.said(),
                None => {}
            }
        }
    }

    /// Whether a part puts anything into the request.
    fn sends(&self, shown: &Shown<'_>, index: usize, part: &Part) -> bool {
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

    fn is_sent(&self, shown: &Shown<'_>) -> bool {
        shown.message.parts.iter().enumerate().any(|(index, part)| self.sends(shown, index, part))
    }

    fn check_first(&self, shown: &Shown<'_>) -> Option<Violation> {
        let message = shown.message;
        let refused = match self.dialect {
            Dialect::Anthropic => message.role == Role::Assistant,
            Dialect::Gemini => {
                message.role == Role::Assistant && message.call_ids().next().is_some()
            }
            Dialect::OpenAiChat | Dialect::OpenAiResponses => false,
        };
        refused.then(|| Violation {
            dialect: self.dialect,
            rule: rule::FIRST_NOT_USER,
            message: message.id.clone(),
            call: None,
            detail: "the conversation starts with a message of the model".to_owned(),
        })
    }

    fn ends_in_space(&self, shown: &Shown<'_>) -> bool {
        let message = shown.message;
        message.role == Role::Assistant
            && message.parts.last().is_some_and(|part| {
                matches!(part.kind, PartKind::Text { ignored: false, .. })
                    && shown.text_of(message.parts.len() - 1).ends_with(char::is_whitespace)
            })
    }

    /// The rules that a message can break by itself.
    fn check_content(&mut self, shown: &Shown<'_>) {
        let message = shown.message;
        for (index, part) in message.parts.iter().enumerate() {
            match &part.kind {
                PartKind::Text { ignored: false, .. }
                    if self.dialect == Dialect::Anthropic
                        && shown.text_of(index).trim().is_empty() =>
                {
                    self.report(rule::EMPTY_TEXT, shown, None, "a text block is empty");
                }
                PartKind::Reasoning { opaque: Some(_), .. }
                    if shown.edit(index).is_some() && self.sends(shown, index, part) =>
                {
                    let detail = "reasoning that must go back unaltered was edited";
                    self.report(rule::REASONING_ALTERED, shown, None, detail);
                }
                PartKind::Call(call) => {
                    let broken = shown
                        .edit(index)
                        .is_some_and(|edit| is_json(&call.arguments) && !is_json(&edit.text));
                    if broken {
                        let detail = "the arguments are no longer JSON";
                        let id = Some(call.call_id.as_str());
                        self.report(rule::ARGUMENTS_BROKEN, shown, id, detail);
                    }
                }
                _ => {}
            }
        }
        if self.dialect == Dialect::OpenAiResponses && self.is_reasoning_alone(shown) {
            let detail = "a reasoning item without the item that it produced";
            self.report(rule::REASONING_ALONE, shown, None, detail);
        }
    }

    /// Whether reasoning is all that a message sends.
    fn is_reasoning_alone(&self, shown: &Shown<'_>) -> bool {
        let message = shown.message;
        message.role == Role::Assistant
            && message
                .parts
                .iter()
                .enumerate()
                .filter(|(index, part)| self.sends(shown, *index, part))
                .all(|(_, part)| matches!(part.kind, PartKind::Reasoning { .. }))
    }

    fn report(&mut self, rule: &'static str, shown: &Shown<'_>, call: Option<&str>, detail: &str) {
        self.content.push(Violation {
            dialect: self.dialect,
            rule,
            message: shown.message.id.clone(),
            call: call.map(str::to_owned),
            detail: detail.to_owned(),
        });
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}
