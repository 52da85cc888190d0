//! `cline.notices`: what the person said stays, the newest steps as far as they fit, and older answers; notes stand for the rest.

use crate::activity::Activity;
use crate::json::{AROUND_MESSAGES, tokens};
use crate::kept::{KeptMessage, select};
use crate::project::project;
use crate::request::share_of_input;
use crate::turn::{Turn, turns};
use foldback_core::Role;
use foldback_core::config::Share;
use foldback_core::log::{EntryKind, Message};
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext};
use foldback_core::view::{EditKind, Pos};
use foldback_stages::filter::{arranged, entry};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Configuration of [`Notices`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticesConfig {
    /// Share of the trigger that a fold brings the request down to.
    pub target_share: Share,
    /// Share of what the model takes that it is for a long conversation, where the limit of the output is known.
    pub long_share: Share,
    /// Answers from which on a conversation is long.
    pub long_answers: usize,
    /// Share of the messages that is left after a refusal, or where a person asked.
    pub manual_share: Share,
    /// Answers, newest first, that notes have word for word.
    pub answers: usize,
    /// UTF-16 units that notes have of a command.
    pub command_chars: usize,
}

impl StageConfig<dyn Filter> for NoticesConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Notices(self)))
    }
}

/// Keeps what the person said, the newest steps and older answers.
#[derive(Clone, Debug)]
pub struct Notices(NoticesConfig);

/// What is in the new view, in order.
enum ViewEntry {
    Kept(Pos),
    Note(String),
}

/// What a fold does.
struct NewView<'a> {
    system: Vec<Pos>,
    kept: Vec<KeptMessage<'a>>,
    shown: Vec<ViewEntry>,
    reason: String,
}

/// Tokens of messages.
struct Budget {
    target: u64,
    /// What they may have at most, whatever stays.
    most: u64,
}

impl Notices {
    fn budget(&self, context: &StageContext<'_>, turns: &[Turn<'_>]) -> Budget {
        let units: u64 = turns.iter().map(|turn| turn.units() + 1).sum();
        let messages: u64 = turns.iter().map(Turn::tokens).sum();
        let request = tokens((units + AROUND_MESSAGES).saturating_sub(1)) + context.frame_tokens();
        let around = request.saturating_sub(messages);
        let of_messages = |request: u64| request.saturating_sub(around).max(1);
        // Nobody decided where a person asked.
        let trigger = context.decision.map(|decision| decision.trigger);
        let most = trigger.map_or(u64::MAX, of_messages);
        let target = match trigger {
            Some(trigger) if !context.moment.is_reactive() => {
                of_messages(self.target(context, turns, trigger))
            }
            _ => self.0.manual_share.floor_of(messages).min(most).max(1),
        };
        Budget { target: target.min(most), most }
    }

    /// What a request is brought down to.
    fn target(&self, context: &StageContext<'_>, turns: &[Turn<'_>], trigger: u64) -> u64 {
        let most = share_of_input(1.0, context.limits);
        let answer = context.limits.output;
        match answers(turns) >= self.0.long_answers && answer > 0 && answer < most {
            true => share_of_input(self.0.long_share.number(), context.limits),
            false => self.0.target_share.floor_of(trigger),
        }
    }

    fn fold<'a>(&self, context: &StageContext<'a>) -> Result<NewView<'a>, Why> {
        let (system, turns) = turns(context);
        let Budget { target, most } = self.budget(context, &turns);
        let selection = select(&turns, target).filter(|_| turns.len() > 1);
        let Some(selection) = selection else {
            return Err(Why::new(
                "nothing-to-fold",
                "the person said nothing, or that is all there is",
            ));
        };
        let kept = with_their_calls(context, &turns, selection.kept);
        let kept = project(kept, selection.tokens.max(target).min(most));
        let shown = self.with_notes(&turns, &kept);
        let reason =
            format!("keeps {} of {} messages for {target} tokens", kept.len(), turns.len());
        let folded = NewView { system, kept, shown, reason };
        if folded.changes(&turns) { Ok(folded) } else { Err(Why::new("all-fits", folded.reason)) }
    }

    /// What stays, with a note behind each message of the person where something is left out behind it.
    fn with_notes(&self, turns: &[Turn<'_>], kept: &[KeptMessage<'_>]) -> Vec<ViewEntry> {
        let answered =
            turns.iter().enumerate().rev().filter_map(|(at, turn)| Some((at, turn.said()?)));
        let last: Vec<(usize, String)> = answered.take(self.0.answers).collect();
        let note = |from: usize, to: usize| {
            let gap = from + 1..to;
            let answers = last.iter().rev().filter(|(at, _)| gap.contains(at));
            let answers: Vec<String> = answers.map(|(_, said)| said.clone()).collect();
            let gap = turns.get(gap).unwrap_or_default();
            Activity::from_turns(gap, self.0.command_chars).note(&answers)
        };
        let mut shown = Vec::new();
        for (number, KeptMessage { index, turn }) in kept.iter().enumerate() {
            let blocks: BTreeSet<Pos> = turn.blocks.iter().map(|block| block.at.item).collect();
            shown.extend(
                turn.members
                    .iter()
                    .filter(|pos| blocks.contains(*pos))
                    .map(|pos| ViewEntry::Kept(*pos)),
            );
            if turn.is_typed() {
                let next = kept.get(number + 1).map_or(turns.len(), |next| next.index);
                shown.extend(note(*index, next).map(ViewEntry::Note));
            }
        }
        shown
    }
}

impl NewView<'_> {
    /// Whether the view becomes another.
    fn changes(&self, turns: &[Turn<'_>]) -> bool {
        let before = turns.iter().flat_map(|turn| &turn.members).map(|pos| Some(*pos));
        let after = self.shown.iter().map(|shown| match shown {
            ViewEntry::Kept(pos) => Some(*pos),
            ViewEntry::Note(_) => None,
        });
        !before.eq(after)
            || self.kept.iter().flat_map(|kept| &kept.turn.blocks).any(|block| block.cut)
    }
}

/// Results stay and go with their calls, also those that came late.
fn with_their_calls<'a>(
    context: &StageContext<'a>,
    turns: &[Turn<'a>],
    kept: Vec<KeptMessage<'a>>,
) -> Vec<KeptMessage<'a>> {
    let mut kept: BTreeMap<usize, KeptMessage<'a>> =
        kept.into_iter().map(|kept| (kept.index, kept)).collect();
    let index: BTreeMap<Pos, usize> =
        (0..).zip(turns).map(|(at, turn)| (turn.members[0], at)).collect();
    let history = context.history;
    for (at, turn) in turns.iter().enumerate().filter(|(_, turn)| turn.role() == Role::Tool) {
        let call = history.group(history.group_of(turn.members[0])).items[0];
        if call == turn.members[0] {
            continue;
        }
        match index.get(&call).is_some_and(|call| kept.contains_key(call)) {
            true => {
                _ = kept.entry(at).or_insert_with(|| KeptMessage { index: at, turn: turn.clone() })
            }
            false => _ = kept.remove(&at),
        }
    }
    kept.into_values().collect()
}

/// How often the model answered.
fn answers(turns: &[Turn<'_>]) -> usize {
    let mut before = Role::Assistant;
    let answers = turns.iter().filter(|turn| {
        let asked = std::mem::replace(&mut before, turn.role()) != Role::Assistant;
        asked && turn.role() == Role::Assistant
    });
    answers.count()
}

impl Filter for Notices {
    fn propose(&self, context: &StageContext<'_>) -> Result<Proposal<'_>, Why> {
        let NewView { system, kept, shown, reason } = self.fold(context)?;
        let (mut entries, mut order) = (Vec::<Message>::new(), system);
        for shown in shown {
            match shown {
                ViewEntry::Kept(pos) => order.push(pos),
                ViewEntry::Note(text) => {
                    order.push(context.history.len() + entries.len());
                    entries.push(entry(context, Role::User, EntryKind::Boundary, text));
                }
            }
        }
        let blocks = kept.into_iter().flat_map(|kept| kept.turn.blocks);
        let edits = blocks.filter(|block| block.cut).map(|block| {
            let (at, text) = (block.at, block.sent().into());
            context.edit(at.item, at.part, EditKind::Truncate, text, "what stays is more than fits")
        });
        let edits = edits.collect();
        let shown = arranged(context, entries, order);
        Ok(Proposal::Layout(Arrangement { edits, reasons: vec![reason], ..shown }))
    }
}
