//! The probe that notes, request by request, how the messages of the log are shown.

use super::firings;
use super::log::{Detail, one_line};
use super::track::{Forgotten, MessageChange, State, Track, ViewStep, WrittenMessage};
use crate::judge::request::{Probe, Request};
use crate::read::index::{CallNeeds, Index, LogPart, Tracker};
use crate::run::drive::Replay;
use crate::run::idle;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::Origin;
use foldback_core::moment::Moment;
use foldback_core::view::{EditKind, Place, Pos};
use indexmap::{IndexMap, IndexSet};
use std::sync::Arc;

/// Characters of what a cleared or cut part shows.
const SHOWN: usize = 160;

/// How a message is shown, and what of it a reader is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    state: State,
    tokens: u64,
    shown: Option<usize>,
}

/// Notes what changes from request to request, and what calls need that the view lacks. Give it to [`crate::replay_with`], then
/// call [`Tracer::finish`].
#[derive(Debug)]
pub(crate) struct Tracer {
    index: Arc<Index>,
    detail: Detail,
    /// By position, the ordinal in the log of each of its messages.
    ordinals: Vec<Option<usize>>,
    looks: Vec<Look>,
    /// Needs of the calls so far.
    needs: usize,
    forgotten: Vec<Forgotten>,
    standing: Vec<usize>,
    steps: Vec<ViewStep>,
    /// Messages of compactions by id, with their text: a strategy may write another text under an old id.
    written: IndexMap<(String, String), WrittenMessage>,
    shown: IndexSet<String>,
    stuck: Option<usize>,
}

impl Tracer {
    /// A probe over one replay of the session that the index is of.
    pub(crate) fn new(index: Arc<Index>, detail: Detail) -> Self {
        Self {
            index,
            detail,
            ordinals: Vec::new(),
            looks: Vec::new(),
            needs: 0,
            forgotten: Vec::new(),
            standing: Vec::new(),
            steps: Vec::new(),
            written: IndexMap::new(),
            shown: IndexSet::new(),
            stuck: None,
        }
    }

    /// What the preset made of the session, by the replay that this probe looked on at.
    pub(crate) fn finish(self, replay: &Replay) -> Track {
        let strategy = replay.conversation.strategy();
        let firings = firings::firings(replay);
        let idle = match firings.is_empty() {
            true => idle::reasons(replay),
            false => Vec::new(),
        };
        let rows = &replay.rows;
        Track {
            preset: strategy.label(),
            limits: replay.conversation.limits(),
            estimator: strategy.estimator().id().to_string(),
            tokens: rows.iter().map(|row| row.input_tokens).collect(),
            overflows: rows.iter().filter(|row| row.overflow).map(|row| row.call).collect(),
            stuck: self.stuck,
            broken: rows
                .iter()
                .flat_map(|row| row.broken.iter().map(|rule| (row.call, rule.clone())))
                .collect(),
            forgotten: self.forgotten,
            sealed: replay.sealed(),
            failures: idle::failures(replay),
            firings,
            idle,
            fault: None,
            steps: self.steps,
            written: self.written.into_values().collect(),
            shown: self.shown.into_iter().collect(),
        }
    }

    /// Notes what a call needs that the view does not have, in the order of the needs of the walk.
    fn miss(&mut self, tracker: &Tracker, call: usize) {
        let Self { index, needs, forgotten, .. } = self;
        let Some(CallNeeds { references, edits }) = index.calls.get(call) else { return };
        let references = references.iter().map(|need| {
            let presence = tracker.presence(need.reference);
            (presence.kept, presence.left_view_at)
        });
        let edits = edits
            .iter()
            .map(|need| (tracker.shows_old_text(need), left(tracker, index.places(need))));
        let pieces =
            index.verbatim.needs(call).iter().map(|need| {
                (tracker.stands(need.piece), tracker.left_at(index.part_at(need.source)))
            });
        for (is_kept, left) in references.chain(edits).chain(pieces) {
            if !is_kept {
                forgotten.push(Forgotten { need: *needs, left_view_at: left.unwrap_or(call) });
            }
            *needs += 1;
        }
    }

    /// Takes over what was appended.
    fn append(&mut self, request: &Request<'_>) {
        let (history, meter) = (request.conversation.history(), request.meter);
        for pos in request.delta.appended.clone() {
            let ordinal = (!history.message(pos).is_entry()).then_some(self.looks.len());
            self.ordinals.push(ordinal);
            if ordinal.is_some() {
                let tokens = meter.appended(pos);
                self.looks.push(Look { state: State::Kept, tokens, shown: None });
            }
        }
    }

    /// What is in the view of the messages that compactions wrote.
    fn stand(&mut self, request: &Request<'_>) -> Vec<usize> {
        let Request { call, conversation, meter, .. } = *request;
        let (history, view) = (conversation.history(), conversation.view());
        let mut standing = Vec::new();
        for place in view.places() {
            let shown = view.show(history, *place);
            let Origin::Entry(kind) = shown.message.origin else {
                continue;
            };
            let message = shown.to_shared();
            let entry = self.written.entry((message.id.clone(), message.shown_text()));
            standing.push(entry.index());
            entry.or_insert_with_key(|(_, text)| {
                let (text, cut) = beginning(text, self.detail.written);
                WrittenMessage { kind, call, tokens: meter.shown(*place), text, cut }
            });
        }
        standing
    }

    /// Looks again at the messages that a fold touched.
    fn look(&mut self, request: &Request<'_>, summarised: bool) -> Vec<MessageChange> {
        let mut changes = Vec::new();
        for pos in request.delta.positions() {
            let Some(message) = self.ordinals[pos] else {
                continue;
            };
            let before = self.looks[message];
            let now = self.look_at(request, pos, before.state, summarised);
            if now != before {
                self.looks[message] = now;
                let Look { state, tokens, shown } = now;
                changes.push(MessageChange { message, state, tokens, shown });
            }
        }
        changes
    }

    fn look_at(
        &mut self,
        request: &Request<'_>,
        pos: Pos,
        before: State,
        summarised: bool,
    ) -> Look {
        let Request { conversation, meter, .. } = *request;
        let view = conversation.view();
        if !view.is_visible(pos) {
            // What was hidden stays what it was: a later summary takes in the one before.
            let state = match before {
                State::Dropped => State::Dropped,
                _ if summarised => State::Summarised,
                State::Summarised => State::Summarised,
                _ => State::Dropped,
            };
            return Look { state, tokens: 0, shown: None };
        }
        let shown = view.show_item(conversation.history(), pos);
        let cleared = shown.edits.iter().find(|(_, edit)| edit.kind == EditKind::Clear);
        let state = match (cleared, shown.edits.first()) {
            (Some(_), _) => State::Cleared,
            (None, Some(_)) => State::Truncated,
            (None, None) => State::Kept,
        };
        let text = cleared.or(shown.edits.first()).map(|(_, edit)| &*edit.text);
        Look {
            state,
            tokens: meter.shown(Place::Item(pos)),
            shown: text.map(|text| self.shown.insert_full(one_line(text, SHOWN).0).0),
        }
    }
}

impl Probe for Tracer {
    fn call(&mut self, request: &Request<'_>) {
        let Request { call, conversation, delta, tracker, .. } = *request;
        if self.stuck.is_none() && is_stuck(conversation) {
            self.stuck = Some(call);
        }
        self.append(request);
        if delta.is_folded() {
            let folds = &conversation.folds()[delta.folds.clone()];
            // A note that something went, or a list of it, is no summary.
            let summarised = folds.iter().any(|fold| !fold.plan.summaries.is_empty());
            let changes = self.look(request, summarised);
            let standing = self.stand(request);
            if !changes.is_empty() || standing != self.standing {
                self.standing.clone_from(&standing);
                self.steps.push(ViewStep { call, changes, standing });
            }
        }
        self.miss(tracker, call);
    }
}

/// Whether as many folds in a row had no effect as the breaker allows, or would if this strategy had one.
fn is_stuck(conversation: &Conversation) -> bool {
    let (breaker, limit) = (conversation.breaker(), Guards::default().breaker);
    let kinds = [Moment::CallStart, Moment::ProviderOverflow];
    kinds.into_iter().any(|moment| breaker.fruitless(moment) >= limit)
}

/// When the last of these parts had left the view.
fn left(tracker: &Tracker, places: &[LogPart]) -> Option<usize> {
    places.iter().map(|place| tracker.left_at(*place)).max().flatten()
}

/// A text up to a number of characters, and whether that is not all.
fn beginning(text: &str, limit: usize) -> (String, bool) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}
