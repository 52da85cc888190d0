//! What filters share that put a summary in the place of old messages: which messages of the view may be summarized, how a cut is
//! moved off a call and its results, and the layout that shows the summary and what is kept.

use foldback_core::log::{EntryKind, Message, Role};
use foldback_core::outcome::Why;
use foldback_core::plan::Layout;
use foldback_core::stage::{Arrangement, StageContext};
use foldback_core::view::Pos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The messages of a view, in its order. Texts that a fold carried over are in the view and not in the history; each fold
/// makes them again, so they are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spoken {
    /// Messages of the harness. The systems keep them outside of their histories, so they stay, in front.
    pub system: Vec<Pos>,
    /// All others.
    pub messages: Vec<Pos>,
}

impl Spoken {
    /// What is spoken in the view.
    pub fn in_view(context: &StageContext<'_>) -> Self {
        let is_system = |pos: &Pos| context.history.kind(*pos).role == Role::System;
        let (system, messages) = context.items().partition(is_system);
        Self { system, messages }
    }

    /// A cut (an index into the messages), moved back so that no call is separated from its results, and none is hidden whose
    /// results are still to come.
    pub fn whole(&self, context: &StageContext<'_>, cut: usize) -> usize {
        let history = context.history;
        let index: BTreeMap<Pos, usize> = self.messages.iter().copied().zip(0..).collect();
        let open = history.open_calls();
        let open = open.iter().filter_map(|(pos, _)| index.get(pos)).min();
        let mut cut = open.map_or(cut, |open| cut.min(*open));
        let mut checked = self.messages.len();
        while cut < checked {
            let kept = self.messages[cut..checked].iter();
            let firsts = kept.filter_map(|pos| history.group(history.group_of(*pos)).items.first());
            let first = firsts.filter_map(|pos| index.get(pos)).min().copied();
            checked = cut;
            cut = first.map_or(cut, |first| first.min(cut));
        }
        cut
    }

    /// The newest summary below this line, and its text.
    pub fn last_summary(&self, context: &StageContext<'_>, prefix: &str) -> Option<(Pos, String)> {
        self.messages.iter().rev().find_map(|pos| {
            let text = summary_of(context.history.message(*pos), prefix, "")?;
            Some((*pos, text.trim_start().to_owned()))
        })
    }

    /// The arrangement that shows a summary in the user's name, and behind it the messages from a cut on.
    pub fn behind(self, context: &StageContext<'_>, summary: Message, cut: usize) -> Arrangement {
        let order = self.system.into_iter().chain([context.history.len()]);
        arranged(context, vec![summary], order.chain(self.messages.into_iter().skip(cut)))
    }
}

/// Messages as the view shows them, for a request.
pub fn shown(context: &StageContext<'_>, messages: &[Pos]) -> Vec<Arc<Message>> {
    let shown = |pos: &Pos| context.view.show_item(context.history, *pos).to_shared();
    messages.iter().map(shown).collect()
}

/// Refuses to fold while calls are unanswered.
///
/// # Errors
///
/// Results of the newest calls are still to come.
pub fn check_open_calls(context: &StageContext<'_>) -> Result<(), Why> {
    if context.history.open_calls().is_empty() {
        return Ok(());
    }
    Err(Why::new("open-calls", "results of the newest calls are still to come"))
}

/// A message that a fold writes in the user's name.
pub fn entry(context: &StageContext<'_>, role: Role, kind: EntryKind, text: String) -> Message {
    let name = if kind == EntryKind::Summary { "summary" } else { "entry" };
    let parts = vec![foldback_core::Part::synthetic(text)];
    Message::new(context.services.ids.next(name), role, parts)
        .as_entry(kind)
        .with_time(context.now())
}

/// The text of an earlier summary between what stands around it; `None` for any other message.
pub fn summary_of(message: &Message, before: &str, after: &str) -> Option<String> {
    let text = message.is_entry_of(EntryKind::Summary).then(|| message.said())?;
    let inner = text.strip_prefix(before)?;
    Some(inner.strip_suffix(after).unwrap_or(inner).to_owned())
}

/// The arrangement that shows these positions in this order, `entries` among them: the first has the position after the history.
pub fn arranged(
    context: &StageContext<'_>,
    entries: Vec<Message>,
    order: impl IntoIterator<Item = Pos>,
) -> Arrangement {
    let layout = Layout::of_positions(order, context.history.len() + entries.len());
    Arrangement { entries, layout, ..Arrangement::default() }
}
