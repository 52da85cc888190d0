//! `indexed.note`: leaves out the oldest messages until a target is reached; one note keeps lines of them.
//!
//! The first user message and the system messages before it stay, other messages of the user stay unless they are bulky,
//! and so do the newest call with its results and everything after it, as long as they fit. Calls go together with their results. Where
//! nothing else makes the request fit, the first user message goes, too: what it begins with is carried over. The note
//! is written anew at each fold. Its lines are chosen from the messages that go now and from the messages that the note
//! before took lines from.

use crate::candidates::Candidates;
use crate::known::Knowledge;
use crate::lines;
use crate::worth::Worth;
use foldback_core::config::Share;
use foldback_core::history::GroupId;
use foldback_core::log::{EntryKind, Role};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::outcome::Why;
use foldback_core::plan::{Insert, Layout, Slot, push_kept};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext};
use foldback_core::view::{Place, Pos};
use foldback_stages::filter::head;
use foldback_stages::rate::Rate;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Share of the window from which a fold is worth its cost however little it frees.
const FULL: f64 = 0.95;

/// Configuration of [`NoteFilter`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteConfig {
    /// Share of the window without the frame that a fold brings the messages down to.
    pub target: Share,
    /// Tokens that messages may take where that share is less, up to half of the window without the frame.
    #[serde(default)]
    pub target_tokens: u64,
    /// Share of that target that the note may take.
    pub note: Share,
    /// Share of the window that an automatic fold must free. Less is not worth a new prompt cache, unless the window is
    /// full.
    pub min_gain: Share,
    /// A larger window counts as one of so many tokens in these shares.
    pub window_at_most: Option<u64>,
    /// Messages of the user of more tokens than this go like any other.
    pub user_tokens: u64,
    /// Share of the target that messages of the user may take together. The oldest go first.
    pub user: Share,
    /// What words and blocks are worth when lines are chosen.
    pub worth: Worth,
}

impl StageConfig<dyn Filter> for NoteConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        self.worth.check()?;
        Ok(Arc::new(NoteFilter { config: self }))
    }
}

/// Leaves out the oldest messages behind a note.
#[derive(Clone, Debug)]
pub struct NoteFilter {
    config: NoteConfig,
}

/// Share of the window from which a fold is near enough to read ahead for it.
const NEAR: f64 = 0.5;

/// What a fold leaves out and what it keeps.
struct Cut {
    head: Vec<Pos>,
    kept: Vec<Pos>,
    gone: Vec<Pos>,
    /// The parts that the note before took lines from.
    noted: Vec<(Pos, usize)>,
    note_tokens: u64,
    reason: String,
}

/// A call with its results, or a message alone.
#[derive(Clone, Debug, Default)]
struct Unit {
    positions: Vec<Pos>,
    tokens: u64,
}

/// The window, in tokens of the estimator, by which a fold goes.
struct Window {
    whole: u64,
    /// What shares are taken of.
    counted: u64,
}

impl NoteFilter {
    /// The window; `None` if it is not known.
    fn window(&self, context: &StageContext<'_>) -> Option<Window> {
        let limits = context.limits;
        let window = if limits.input > 0 { limits.input } else { limits.context };
        // What a fold brings down is counted by the estimator.
        let rate = Rate::from_pressure(&context.pressure());
        let whole = rate.estimator(window);
        let most = self.config.window_at_most.map_or(u64::MAX, |most| rate.estimator(most));
        (window > 0).then_some(Window { whole, counted: whole.min(most) })
    }

    fn cut(&self, context: &StageContext<'_>) -> Result<Cut, Why> {
        let unknown = || Why::new("window-unknown", "the window of the model is not known");
        let Window { whole: window, counted } = self.window(context).ok_or_else(unknown)?;
        let frame = context.frame_tokens();
        let request = frame + context.view_tokens();
        let free = counted.saturating_sub(frame);
        let mut messages =
            share(free, self.config.target.number()).max(self.config.target_tokens.min(free / 2));
        let refused = context.moment == Moment::ProviderOverflow;
        if let (true, Some(target)) = (refused, context.decision.and_then(|d| d.target)) {
            messages = messages.min(target.saturating_sub(frame));
        }
        let largest = share(messages, self.config.note.number());
        // A note that has to be smaller leaves some of the window free, since sizes are estimates.
        let room = |freed: u64| (window - window / MARGIN + freed).saturating_sub(request);
        let mut note_tokens = largest;
        let ViewContents { visible, inserts, noted } = ViewContents::from_context(context);
        let mut head = head(context, &visible);
        let user = share(messages, self.config.user.number());
        let units = self.units(context, &visible, &head, user);
        let newest = newest(context, &visible);
        let (mut freed, mut dropped) = (inserts, BTreeSet::new());
        // The newest call goes only where the request would not fit into the window with it and a small note.
        for (last, most) in [(false, frame + messages), (true, window)] {
            if last {
                note_tokens = largest.min(room(freed).max(largest / SMALL));
            }
            for (group, unit) in &units {
                let torn = unit.positions.len() < context.history.group(*group).items.len();
                let above = request + note_tokens > most + freed;
                if newest.contains(group) == last && (above || torn && !last) {
                    freed += unit.tokens;
                    dropped.extend(unit.positions.iter().copied());
                }
            }
        }
        // As a last step the task goes, where the request would not fit with it.
        let task = |pos: &Pos| context.history.kind(*pos).role == Role::User;
        if request + note_tokens > window + freed
            && let Some(task) = head.iter().copied().find(task)
        {
            head.remove(&task);
            freed += context.tokens(Place::Item(task));
            dropped.insert(task);
        }
        note_tokens = largest.min(room(freed).max(note_tokens));
        if dropped.is_empty() {
            return Err(Why::new(
                "nothing-to-drop",
                "only the beginning, messages of the user and the newest call are left",
            ));
        }
        let gain = freed.saturating_sub(note_tokens);
        let least = share(counted, self.config.min_gain.number());
        let due = refused || context.trigger == Trigger::Manual || request > share(window, FULL);
        if gain < least && !due {
            let detail = format!("a fold would free {gain} tokens, less than {least}");
            return Err(Why::new("too-little", detail));
        }
        let reason = format!(
            "{request} tokens, to {}: leaves out {} of {} messages, {} tokens, behind a note of up to {note_tokens}",
            frame + messages,
            dropped.len(),
            visible.len(),
            freed - inserts,
        );
        let stays = |pos: &&Pos| !dropped.contains(*pos) && !head.contains(*pos);
        let kept = visible.iter().filter(stays).copied().collect();
        let (head, gone) = (head.into_iter().collect(), dropped.into_iter().collect());
        Ok(Cut { head, kept, gone, noted, note_tokens, reason })
    }

    /// What may go, by group in order of the history. `user` are the tokens that messages of the user may take.
    fn units(
        &self,
        context: &StageContext<'_>,
        visible: &[Pos],
        head: &BTreeSet<Pos>,
        mut user: u64,
    ) -> BTreeMap<GroupId, Unit> {
        let mut units: BTreeMap<GroupId, Unit> = BTreeMap::new();
        for pos in visible.iter().rev().filter(|pos| !head.contains(pos)) {
            let tokens = context.tokens(Place::Item(*pos));
            if context.history.kind(*pos).role == Role::User
                && tokens <= self.config.user_tokens
                && tokens <= user
            {
                user -= tokens;
                continue;
            }
            let unit = units.entry(context.history.group_of(*pos)).or_default();
            unit.positions.push(*pos);
            unit.tokens += tokens;
        }
        units
    }
}

/// The part of a note that is still worth writing beside a large newest call: a quarter.
const SMALL: u64 = 4;

/// The part of the window that a smaller note leaves free: a thirty-second.
const MARGIN: u64 = 32;

/// A share of a number of tokens, rounded down.
fn share(tokens: u64, share: f64) -> u64 {
    (tokens as f64 * share) as u64
}

/// What the view shows.
struct ViewContents {
    /// Messages of the history.
    visible: Vec<Pos>,
    /// Tokens of what compactions inserted.
    inserts: u64,
    /// The parts that the note took lines from.
    noted: Vec<(Pos, usize)>,
}

impl ViewContents {
    fn from_context(context: &StageContext<'_>) -> Self {
        let mut out = Self { visible: Vec::new(), inserts: 0, noted: Vec::new() };
        for place in context.places() {
            match place {
                Place::Item(pos) => out.visible.push(*pos),
                Place::Insert(_) => {
                    out.inserts += context.tokens(*place);
                    out.noted.extend(lines::sources(&context.message(*place).shown_text()));
                }
            }
        }
        out
    }
}

/// The newest call with its results, which the model has not answered, and the newest message.
fn newest(context: &StageContext<'_>, visible: &[Pos]) -> BTreeSet<GroupId> {
    let answer =
        visible.iter().rev().find(|pos| context.history.kind(**pos).role == Role::Assistant);
    let newest = answer.into_iter().chain(visible.last());
    newest.map(|pos| context.history.group_of(*pos)).collect()
}

impl Filter for NoteFilter {
    fn read_ahead(&self, context: &StageContext<'_>) {
        let request = context.frame_tokens() + context.view_tokens();
        let near = |window: Window| request > share(window.counted, NEAR);
        if self.window(context).is_some_and(near) {
            Knowledge::read_with(context.history, |_| ());
        }
    }

    fn propose(&self, context: &StageContext<'_>) -> Result<Proposal<'_>, Why> {
        let cut = self.cut(context)?;
        let Cut { gone, noted, kept, .. } = &cut;
        let candidates = Candidates::new(context.history, gone, noted, kept, self.config.worth);
        let mut slots = Vec::new();
        for pos in &cut.head {
            push_kept(&mut slots, *pos);
        }
        let text = lines::write(&candidates, cut.note_tokens);
        let id = context.services.ids.next("note");
        slots.push(Slot::Insert(Insert::new(id, Role::User, text, EntryKind::Summary)));
        for pos in &cut.kept {
            push_kept(&mut slots, *pos);
        }
        Ok(Proposal::Layout(Arrangement {
            layout: Layout { slots, tail_from: context.history.len() },
            reasons: vec![cut.reason],
            ..Arrangement::default()
        }))
    }
}
