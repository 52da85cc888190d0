//! What tests do to a view by hand, beneath every strategy.

use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Role};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::plan::{Edit, Insert, Layout, Plan, Slot};
use foldback_core::view::{EditKind, PartPos};

/// Something that is done to a view.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// Clears, or cuts to the text, the first part of the message with this id.
    Edit(&'a str, EditKind, &'a str),
    /// Shows only what comes behind this position, after an inserted summary.
    Summarise(usize, &'a str),
    /// Undoes the last fold.
    Undo,
}

impl<'a> Act<'a> {
    /// What is done before which call, from `CALL clear ID [TEXT]`, `CALL cut ID TEXT`, `CALL summary
    /// POSITION TEXT` and `CALL undo`, one behind the other by semicolons. What is cleared without a text
    /// shows `[cleared]`.
    ///
    /// # Panics
    ///
    /// If it is written otherwise.
    pub fn read(written: &'a str) -> Vec<(usize, Self)> {
        let acts = written.split("; ").filter(|act| !act.is_empty());
        let act = |act: &'a str| {
            let words: Vec<&str> = act.splitn(4, ' ').collect();
            let number = |word: &str| word.parse::<usize>().expect("a number");
            let does = match words[1..] {
                ["clear", id] => Self::Edit(id, EditKind::Clear, "[cleared]"),
                ["clear", id, text] => Self::Edit(id, EditKind::Clear, text),
                ["cut", id, text] => Self::Edit(id, EditKind::Truncate, text),
                ["summary", position, text] => Self::Summarise(number(position), text),
                ["undo"] => Self::Undo,
                _ => panic!("nothing that is done to a view: {act}"),
            };
            (number(words[0]), does)
        };
        acts.map(act).collect()
    }

    /// Does it.
    ///
    /// # Panics
    ///
    /// If there is no such message.
    pub fn on(self, conversation: &mut Conversation) {
        let plan = match self {
            Self::Undo => {
                conversation.undo();
                return;
            }
            Self::Edit(id, kind, text) => {
                let item = conversation.history().position(id).expect("a message of this id");
                let mut plan = plan(conversation);
                plan.edits = vec![edit(item, kind, text)];
                plan
            }
            Self::Summarise(tail_from, text) => {
                let mut plan = plan(conversation);
                plan.layout = Some(layout(format!("summary-{tail_from}"), tail_from, text));
                plan.summaries = vec!["test".to_owned()];
                plan
            }
        };
        conversation.commit(plan).expect("a fresh plan");
    }
}

/// A plan that does nothing, on the conversation as it is.
pub fn plan(conversation: &Conversation) -> Plan {
    conversation.draft("test", Moment::CallStart, Trigger::Auto)
}

/// An edit of the first part of a message.
pub fn edit(item: usize, kind: EditKind, text: &str) -> Edit {
    let at = PartPos { item, part: 0 };
    Edit { at, kind, text: text.into(), reason: "test".into(), before: 0, after: 0 }
}

/// What stands behind a position, after an inserted summary.
pub fn layout(id: String, tail_from: usize, text: &str) -> Layout {
    let origin = EntryKind::Summary;
    let insert = Insert::new(id, Role::User, text.to_owned(), origin);
    Layout { slots: vec![Slot::Insert(insert)], tail_from }
}
