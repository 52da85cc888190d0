//! What messages and calls are called in a rendering.

use super::redact::redacted;
use crate::conversation::Conversation;
use crate::log::{Origin, Part, Role};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Other names for ids. Without any, ids and texts stand as they were recorded.
#[derive(Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// Names that are the same however a session was recorded: a letter for who speaks and the place in the log, and
    /// `c1`, `c2`, … for calls.
    pub(super) fn stable(conversation: &Conversation) -> Self {
        let (mut names, mut calls, mut entries) = (BTreeMap::new(), 0, 0);
        for (number, (_, message)) in conversation.history().iter().enumerate() {
            let name = match (message.origin, message.role) {
                (Origin::Entry(kind), _) => {
                    entries += 1;
                    format!("{}-{entries}", kind.as_str())
                }
                (Origin::Log, Role::System) => format!("s{}", number + 1 - entries),
                (Origin::Log, Role::User) => format!("u{}", number + 1 - entries),
                (Origin::Log, Role::Assistant) => format!("a{}", number + 1 - entries),
                (Origin::Log, Role::Tool) => format!("t{}", number + 1 - entries),
            };
            names.insert(message.id.clone(), name);
            for call in message.parts.iter().filter_map(Part::as_call) {
                calls += 1;
                names.entry(call.call_id.clone()).or_insert_with(|| format!("c{calls}"));
            }
        }
        Self(names)
    }

    /// What an id is called.
    pub(super) fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }

    /// A text, without what differs from recording to recording where ids do.
    pub(super) fn text<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        if self.0.is_empty() { text } else { redacted(&text).into() }
    }
}
