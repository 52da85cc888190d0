//! What a fold may not lose: pinned messages and texts, the user's own words, the open plan.
//!
//! Regardless of any summary, these are in the view word for word, in one message that the driver
//! puts in front of what a filter keeps. It is built from the log at every fold, so nothing wears
//! off by being summarized again, and it holds only what the view would otherwise hide.
//!
//! What is [pinned](Pins) is always carried, whole. The rest is the `[carry]` section of a strategy file; it
//! is off in presets that reproduce a system without it.

mod invented;
mod pins;

pub use invented::invented;
pub use pins::{Pin, PinPattern, Pins};

use crate::history::History;
use crate::log::{EntryKind, Message, Part, PartKind, Role, TodoList};
use crate::outcome::Why;
use crate::plan::{Insert, Layout, Slot};
use crate::stage::Estimator;
use crate::view::{Place, Pos, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What is carried over in addition to what is pinned, and what pins by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Carry {
    /// Which of the user's messages.
    pub user: CarryUser,
    /// The open items of the last todo list or plan that the model wrote.
    pub plan: bool,
    /// Most tokens for both, by the strategy's estimator. The first and the newest messages come first.
    pub budget: u64,
    /// Sentences of the user's that are pinned because one of these regular expressions occurs in them. `rules` stands for one
    /// that finds sentences with "never", "always", "do not" and the like.
    pub pins: Vec<PinPattern>,
}

/// Which of the user's messages are carried over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CarryUser {
    /// None.
    #[default]
    None,
    /// The first one: the task.
    First,
    /// The first and the last one.
    Ends,
    /// All, as far as the budget goes.
    All,
}

impl Default for Carry {
    fn default() -> Self {
        Self { user: CarryUser::None, plan: false, budget: 2_000, pins: Vec::new() }
    }
}

/// Refuses to fold where what is pinned takes more than a quarter of a window of `context` tokens; 0 is a window of any size.
///
/// # Errors
///
/// With both numbers.
pub(crate) fn check_pinned(
    history: &History,
    pinned: &BTreeSet<Pos>,
    pins: &Pins,
    context: u64,
    estimator: &Arc<dyn Estimator>,
) -> Result<(), Why> {
    let whole = pinned.iter().filter_map(|pos| history.get(*pos));
    let whole: u64 = whole.map(|message| estimator.text(&message.shown_text())).sum();
    let tokens = whole + pins.iter().map(|pin| estimator.text(&pin.text)).sum::<u64>();
    if context == 0 || tokens <= context / PINNED_SHARE {
        return Ok(());
    }
    let detail = format!(
        "what is pinned has {tokens} tokens, more than a quarter of the window of {context}: unpin some of it"
    );
    Err(Why::new("pins", detail))
}

/// A fold that is being arranged: what is pinned, and what the view will be without what is carried.
#[derive(Clone, Copy)]
pub(crate) struct Folding<'a> {
    pub(crate) history: &'a History,
    /// For its edits.
    pub(crate) view: &'a View,
    pub(crate) layout: &'a Layout,
    /// Messages that the fold writes into the history.
    pub(crate) entries: &'a [Message],
    /// Messages that are pinned as a whole.
    pub(crate) pinned: &'a BTreeSet<Pos>,
    pub(crate) pins: &'a Pins,
}

impl Folding<'_> {
    /// Images of the user's that are in view and would be no longer. Reads no more than the view.
    pub(crate) fn lost_images(&self) -> usize {
        let end = self.history.len() + self.entries.len();
        let stays = |pos: Pos| self.layout.kept(end).any(|range| range.contains(&pos));
        let shown = self.view.places().iter().filter_map(|place| match place {
            Place::Item(pos) => Some((*pos, self.history.get(*pos)?)),
            Place::Insert(_) => None,
        });
        let of_user = shown.filter(|(_, message)| message.role == Role::User);
        let with_images = of_user.map(|(pos, message)| (pos, images(message)));
        let lost = with_images.filter(|(pos, images)| *images > 0 && !stays(*pos));
        lost.map(|(_, images)| images).sum()
    }

    /// Whether a text stands anywhere else: in what the fold writes, or in what a user or an earlier fold said.
    fn says(&self, text: &str, hidden: &dyn Fn(Pos) -> bool) -> bool {
        let inserts = self.layout.slots.iter().filter_map(|slot| match slot {
            Slot::Insert(insert) if insert.origin() != EntryKind::Carried => Some(insert.message()),
            _ => None,
        });
        let shown = |(pos, message): &(Pos, &Arc<Message>)| {
            (message.role == Role::User || message.is_entry())
                && !hidden(*pos)
                && !self.view.has_edit(*pos)
        };
        let said = self.history.iter().filter(shown).map(|(_, message)| message);
        inserts.chain(said).map(|message| &**message).chain(self.entries).any(|message| {
            let mut parts = message.parts.iter();
            parts.any(|part| part.shown().contains(text))
        })
    }
}

impl Carry {
    /// Everything: what an agent in use wants.
    pub fn all() -> Self {
        Self { user: CarryUser::All, plan: true, ..Self::default() }
    }

    /// The text that must be in the view in addition to what a fold shows, or `None` if nothing is lost.
    pub(crate) fn text(
        &self,
        folding: &Folding<'_>,
        estimator: &Arc<dyn Estimator>,
    ) -> Option<String> {
        let Folding { history, view, layout, pinned, pins, .. } = *folding;
        if pinned.is_empty() && pins.is_empty() && self.user == CarryUser::None && !self.plan {
            return None;
        }
        let visible = layout.visible(history);
        let hidden = |pos: Pos| !visible.get(pos).copied().unwrap_or(true);
        let whole = pinned
            .iter()
            .filter(|pos| hidden(**pos) || view.has_edit(**pos))
            .filter_map(|pos| history.get(*pos))
            .map(|message| quoted(message.role.as_str(), &message.shown_text()));
        let lost = pins.iter().filter(|pin| {
            let is_shown = !hidden(pin.pos) && pin.is_shown(history, view);
            !is_shown && !folding.says(&pin.text, &hidden)
        });
        let pins: Vec<String> = whole.chain(lost.map(Pin::marked)).collect();
        let items = self.plan.then(|| open_plan(history, &hidden)).flatten();
        let plan = items.and_then(|items| fitting(&items, self.budget, estimator));
        let spent = plan.as_deref().map_or(0, |plan| estimator.text(plan));
        let room = self.budget.saturating_sub(spent);
        let said = self.said(history, &hidden, room, estimator);
        let sections = [
            ("Pinned", pins.join("\n")),
            ("What the user said", said),
            ("Open plan", plan.unwrap_or_default()),
        ];
        let mut text = String::new();
        for (title, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
            if text.is_empty() {
                text.push_str(HEADING);
            }
            text.push_str(&format!("\n\n## {title}\n\n{body}"));
        }
        (!text.is_empty()).then_some(text)
    }

    /// What the user said and the view hides, oldest first; the first and the newest ones where not all
    /// fit.
    fn said(
        &self,
        history: &History,
        hidden: &dyn Fn(Pos) -> bool,
        room: u64,
        estimator: &Arc<dyn Estimator>,
    ) -> String {
        if self.user == CarryUser::None {
            return String::new();
        }
        // The first one is found at the beginning, so that a fold reads no more than that for it.
        let most = if self.user == CarryUser::First { 1 } else { usize::MAX };
        let mut all: Vec<(Pos, String)> = history
            .iter()
            .filter(|(_, message)| message.role == Role::User && !message.is_entry())
            .map(|(pos, message)| (pos, message.said() + &"\n[image]".repeat(images(message))))
            .filter(|(_, said)| !said.trim().is_empty())
            .take(most)
            .collect();
        if self.user == CarryUser::Ends && all.len() > 2 {
            all.drain(1..all.len() - 1);
        }
        all.retain(|(pos, _)| hidden(*pos));
        // By importance: the task, the latest word, then backwards.
        let order = (0..all.len().min(1)).chain((1..all.len()).rev());
        let mut left = room;
        let mut texts: Vec<Option<String>> = vec![None; all.len()];
        for (rank, index) in order.enumerate() {
            // The task and the latest word are cut where they are too long; others are left out.
            let share = match rank {
                0 if all.len() > 1 => left / 2,
                _ => left,
            };
            let Some(text) = within(&all[index].1, share, rank < 2, estimator) else {
                break;
            };
            left = left.saturating_sub(estimator.text(&text));
            texts[index] = Some(text);
        }
        let lost = texts.iter().filter(|text| text.is_none()).count();
        let mut out: Vec<String> = Vec::new();
        let mut noted = lost == 0;
        for (index, text) in texts.into_iter().enumerate() {
            match text {
                Some(text) => out.push(quoted("user", &text)),
                None if !noted && index > 0 => {
                    out.push(format!("({lost} messages in between are left out)"));
                    noted = true;
                }
                None => {}
            }
        }
        out.join("\n")
    }
}

const HEADING: &str = "[Carried over word for word]";
/// What is pinned may take one part in so many of the window.
const PINNED_SHARE: u64 = 4;
/// Texts of fewer tokens say nothing once they are cut.
const LEAST: u64 = 16;

fn images(message: &Message) -> usize {
    let is_image = |part: &&Part| matches!(&part.kind, PartKind::File(file) if file.mime.starts_with("image/"));
    message.parts.iter().filter(is_image).count()
}

/// A text as data: no line of it can end the quotation.
fn quoted(who: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{who}:\n{fence}\n{}\n{fence}", text.trim_end())
}

/// The whole text if it fits; else, if it may be cut, its beginning.
fn within(text: &str, room: u64, cut: bool, estimator: &Arc<dyn Estimator>) -> Option<String> {
    if estimator.text(text) <= room {
        return Some(text.to_owned());
    }
    if !cut || room < LEAST {
        return None;
    }
    let mut end = text.len();
    while end > 0 {
        end = text.floor_char_boundary(end * 7 / 8);
        let short = format!("{} …", &text[..end]);
        if estimator.text(&short) <= room {
            return Some(short);
        }
    }
    None
}

/// The list that a model keeps, as far as a history was read. The history keeps it, so a fold reads only what came since the one
/// before.
#[derive(Default)]
struct Planned {
    upto: Pos,
    withdrawn: usize,
    /// Where the list begins.
    begins: Option<Pos>,
    list: TodoList,
}

/// The open items of the list that the model keeps, where the view hides where it begins.
fn open_plan(history: &History, hidden: &dyn Fn(Pos) -> bool) -> Option<Vec<String>> {
    let planned: &Mutex<Planned> = history.derived().get_or(Mutex::default);
    let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
    if planned.withdrawn != history.withdrawn() {
        *planned = Planned { withdrawn: history.withdrawn(), ..Planned::default() };
    }
    for (pos, message) in history.range(planned.upto..history.len()) {
        for call in message.parts.iter().filter_map(|part| part.as_call()) {
            if planned.list.take(call) == Some(true) {
                planned.begins = Some(pos);
            }
        }
    }
    planned.upto = history.len();
    planned.begins.filter(|pos| hidden(*pos))?;
    Some(planned.list.open()).filter(|items| !items.is_empty())
}

/// The items as a list, the first ones where not all fit.
fn fitting(items: &[String], room: u64, estimator: &Arc<dyn Estimator>) -> Option<String> {
    let mut list = String::new();
    for item in items {
        let line = format!("- [ ] {}", item.replace('\n', " "));
        let longer = if list.is_empty() { line } else { format!("{list}\n{line}") };
        if estimator.text(&longer) > room {
            break;
        }
        list = longer;
    }
    (!list.is_empty()).then_some(list)
}

/// Puts the carried text into a layout: after a summary at the front, else at the front, where it
/// can part no call from its result. Takes out what an earlier fold had put there.
pub(crate) fn place(layout: &mut Layout, insert: Option<Insert>) {
    layout.slots.retain(
        |slot| !matches!(slot, Slot::Insert(insert) if insert.origin() == EntryKind::Carried),
    );
    if let Some(insert) = insert {
        let behind = usize::from(matches!(layout.slots.first(), Some(Slot::Insert(_))));
        layout.slots.insert(behind, Slot::Insert(insert));
    }
}

#[cfg(test)]
mod tests;
