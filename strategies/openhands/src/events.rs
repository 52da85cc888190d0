//! A view as the event log that an agent of the OpenHands SDK keeps, and the places between events where it may be cut.
//!
//! An event is a message, a call or a result; the system prompt is the first one. Four properties of a view say where it may be cut: a call
//! and its result stay together, and with them the calls of one answer, which is the second property; so do the calls and results that follow
//! an answer with signed reasoning. The fourth, that a call has one result, forbids no place.

use crate::pressure::is_event;
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::stage::StageContext;
use foldback_core::view::{PartPos, Place, Pos};
use foldback_stages::filter::{Spoken, shown};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What an event is to the properties.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A call by its id; whether signed reasoning came with it.
    Call(String, bool),
    /// The result of a call.
    Result(String),
    /// Anything else.
    Other,
}

/// An event.
#[derive(Clone, Debug)]
struct Event {
    /// Index into the messages; the system prompt has none.
    message: Option<usize>,
    tokens: u64,
    kind: Kind,
}

/// The events of a view.
#[derive(Debug)]
pub(crate) struct Events {
    /// What is spoken in the view.
    pub(crate) spoken: Spoken,
    events: Vec<Event>,
}

/// Whether reasoning came with an answer that the provider signed.
fn thinks(message: &Message) -> bool {
    let signed = |part: &Part| matches!(part.kind, PartKind::Reasoning { opaque: Some(_), .. });
    message.parts.iter().any(signed)
}

impl Events {
    /// The events of the view, under the counts of the stage.
    pub(crate) fn from_context(context: &StageContext<'_>) -> Self {
        let spoken = Spoken::in_view(context);
        let front = spoken.system.iter().map(|pos| context.tokens(Place::Item(*pos)));
        let tokens = context.frame_tokens() + front.sum::<u64>();
        let mut events = vec![Event { message: None, tokens, kind: Kind::Other }];
        for (index, pos) in spoken.messages.iter().enumerate() {
            let message = context.history.message(*pos);
            let mut left = context.tokens(Place::Item(*pos));
            let first = events.len();
            let mut calls = Vec::new();
            for (part, content) in message.parts.iter().enumerate() {
                match &content.kind {
                    PartKind::Call(call) => {
                        let at = PartPos { item: *pos, part };
                        let tokens = context.meter.part_shown(at);
                        calls.push((call.call_id.clone(), tokens));
                        left = left.saturating_sub(tokens);
                    }
                    PartKind::Result(result) => {
                        let kind = Kind::Result(result.call_id.clone());
                        events.push(Event { message: Some(index), tokens: 0, kind });
                        break;
                    }
                    _ => {}
                }
            }
            let thinks = thinks(message);
            for (id, tokens) in calls {
                let kind = Kind::Call(id, thinks);
                events.push(Event { message: Some(index), tokens, kind });
            }
            if events.len() == first && is_event(message) {
                events.push(Event { message: Some(index), tokens: 0, kind: Kind::Other });
            }
            // What was said counts with the first call.
            if let Some(event) = events.get_mut(first) {
                event.tokens += left;
            }
        }
        Self { spoken, events }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Tokens of each.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u64> + '_ {
        self.events.iter().map(|event| event.tokens)
    }

    /// Index of the message that an event belongs to, or the number of messages behind the last one.
    pub(crate) fn message(&self, event: usize) -> usize {
        let message = |event: &Event| event.message.unwrap_or(0);
        self.events.get(event).map_or(self.spoken.messages.len(), message)
    }

    /// The event that begins a message.
    pub(crate) fn begins(&self, message: usize) -> Option<usize> {
        self.events.iter().position(|event| event.message == Some(message))
    }

    /// The messages of a range of events as the view shows them.
    pub(crate) fn shown(
        &self,
        context: &StageContext<'_>,
        range: &std::ops::Range<usize>,
    ) -> Vec<Arc<Message>> {
        shown(context, &self.spoken.messages[self.message(range.start)..self.message(range.end)])
    }

    /// Whether it may be cut in front of each event, and behind the last one. `groups` keeps every message of a call's group
    /// together and waits for the results of calls that are open; else a call is open until its first result.
    pub(crate) fn cuts(&self, context: &StageContext<'_>, groups: bool) -> Vec<bool> {
        let mut cuts = vec![true; self.events.len() + 1];
        if groups {
            self.forbid_in_groups(context, &mut cuts);
            if let Some(open) = self.waits_at(context) {
                cuts[open + 1..].fill(false);
            }
        } else {
            self.forbid_in_pairs(&mut cuts);
        }
        self.forbid_in_loops(&mut cuts);
        cuts
    }

    /// A call and its result stay together.
    fn forbid_in_pairs(&self, cuts: &mut [bool]) {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for (index, event) in self.events.iter().enumerate() {
            match &event.kind {
                Kind::Call(id, _) => drop(open.insert(id)),
                Kind::Result(id) => drop(open.remove(&**id)),
                Kind::Other => {}
            }
            if !open.is_empty() {
                cuts[index + 1] = false;
            }
        }
    }

    /// A call and all its results stay together.
    fn forbid_in_groups(&self, context: &StageContext<'_>, cuts: &mut [bool]) {
        let mut ends = BTreeMap::new();
        for (index, event) in self.events.iter().enumerate() {
            let pos = event.message.map(|message| self.spoken.messages[message]);
            if let Some(pos) = pos {
                let group = context.history.group_of(pos);
                ends.entry(group).or_insert((index, index)).1 = index;
            }
        }
        let mut depth = vec![0_i64; cuts.len() + 1];
        for (first, last) in ends.into_values() {
            depth[first + 1] += 1;
            depth[last + 1] -= 1;
        }
        let mut inside = 0;
        for (cut, change) in cuts.iter_mut().zip(depth) {
            inside += change;
            *cut &= inside == 0;
        }
    }

    /// The calls and results after an answer with signed reasoning stay with it.
    fn forbid_in_loops(&self, cuts: &mut [bool]) {
        let mut inside = false;
        for (index, event) in self.events.iter().enumerate() {
            match event.kind {
                Kind::Call(_, true) => inside = true,
                Kind::Call(..) | Kind::Result(_) if inside => cuts[index] = false,
                Kind::Call(..) | Kind::Result(_) => {}
                Kind::Other => inside = false,
            }
        }
    }

    /// The first event of the first answer whose results are still waited for.
    pub(crate) fn waits_at(&self, context: &StageContext<'_>) -> Option<usize> {
        let open = context.history.open_calls();
        let waits = |at: &Pos| open.iter().any(|(pos, _)| pos == at);
        let message = self.spoken.messages.iter().position(waits)?;
        self.begins(message)
    }
}
