//! What messages and calls are called in a rendering.

use super::redact::redacted;
use crate::conversation::Conversation;
use crate::log::{Message, Origin, Part, Role};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Other names for ids. By default, ids and texts stand as they were recorded.
#[derive(Default)]
pub(super) struct Names {
    names: BTreeMap<String, String>,
    stable: bool,
}

impl Names {
    /// Names that are the same however a session was recorded: a letter for who speaks and the place in the log, and
    /// `c1`, `c2`, … for calls.
    pub(super) fn stable(conversation: &Conversation) -> Self {
        let (mut names, mut calls, mut entries) = (BTreeMap::new(), 0, 0);
        for (number, (_, message)) in conversation.history().iter().enumerate() {
            let name = match message.origin {
                Origin::Entry(kind) => {
                    entries += 1;
                    format!("{}-{entries}", kind.as_str())
                }
                Origin::Log => place(message.role, number - entries),
            };
            names.insert(message.id.clone(), name);
            for call in message.parts.iter().filter_map(Part::as_call) {
                calls += 1;
                names.entry(call.call_id.clone()).or_insert_with(|| format!("c{calls}"));
            }
        }
        Self { names, stable: true }
    }

    /// Names of the calls in a list of messages, whose own ids are names already.
    pub(super) fn of_calls<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut names = BTreeMap::new();
        for id in messages.into_iter().flat_map(Message::call_ids) {
            let number = names.len() + 1;
            names.entry(id.to_owned()).or_insert_with(|| format!("c{number}"));
        }
        Self { names, stable: true }
    }

    /// What an id is called.
    pub(super) fn shown<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }

    /// A text, without what differs from recording to recording where ids do.
    pub(super) fn text<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        if self.stable { redacted(&text).into() } else { text }
    }
}

/// The name of a place in a log: a letter for who speaks there, and its number.
pub(super) fn place(role: Role, pos: usize) -> String {
    let letter = match role {
        Role::System => 's',
        Role::User => 'u',
        Role::Assistant => 'a',
        Role::Tool => 't',
    };
    format!("{letter}{}", pos + 1)
}
