//! The probe that notes, request by request, how the messages of the log are shown.

use super::log::one_line;
use super::{Change, Detail, Forgotten, State, Step, Track, Written, firings};
use crate::availability::{Findings, Index, LogPart};
use crate::drive::{Probe, Replay};
use crate::idle;
use foldback_core::conversation::{Conversation, FoldId};
use foldback_core::log::{EntryKind, Message, Origin};
use foldback_core::meter::Meter;
use foldback_core::plan::{Plan, Slot};
use foldback_core::view::{EditKind, PartPos, Place, Pos};
use std::collections::HashMap;
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

/// Notes what changes from request to request. Give it to [`crate::replay_with`] beside an
/// [`crate::availability::Availability`], then what both found to [`Tracer::finish`].
#[derive(Debug)]
pub struct Tracer {
    index: Arc<Index>,
    detail: Detail,
    /// Positions in the history of the messages of the log.
    positions: Vec<Pos>,
    seen: Pos,
    looks: Vec<Look>,
    /// Per message and part, the first call whose view did not show it as recorded; `None` while it does.
    left: Vec<Vec<Option<usize>>>,
    /// For each edit of each call, when its old text had left the view.
    edits: Vec<Vec<Option<usize>>>,
    folds: usize,
    fold: Option<FoldId>,
    /// Messages of compactions by id, with their text: a strategy may write another text under an old id.
    known: HashMap<(String, String), usize>,
    standing: Vec<usize>,
    texts: HashMap<String, usize>,
    steps: Vec<Step>,
    written: Vec<Written>,
    shown: Vec<String>,
}

impl Tracer {
    /// A probe over one replay of the session that the index is of.
    pub fn new(index: Arc<Index>, detail: Detail) -> Self {
        Self {
            index,
            detail,
            positions: Vec::new(),
            seen: 0,
            looks: Vec::new(),
            left: Vec::new(),
            edits: Vec::new(),
            folds: 0,
            fold: None,
            known: HashMap::new(),
            standing: Vec::new(),
            texts: HashMap::new(),
            steps: Vec::new(),
            written: Vec::new(),
            shown: Vec::new(),
        }
    }

    /// What the preset made of the session. Replay and findings are those that this probe looked on at.
    pub fn finish(self, replay: &Replay, findings: &Findings) -> Track {
        let strategy = replay.conversation.strategy();
        let firings = firings::firings(replay);
        let idle = match firings.is_empty() {
            true => idle::reasons(replay),
            false => Vec::new(),
        };
        let rows = &replay.rows;
        Track {
            preset: strategy.label(),
            kind: strategy.kind,
            limits: replay.conversation.limits(),
            estimator: strategy.estimator().id().to_string(),
            tokens: rows.iter().map(|row| row.input_tokens).collect(),
            overflows: rows.iter().filter(|row| row.overflow).map(|row| row.call).collect(),
            forgotten: self.forgotten(findings),
            failures: idle::failures(replay),
            firings,
            idle,
            steps: self.steps,
            written: self.written,
            shown: self.shown,
        }
    }

    /// Joins the rows of what was missed with the needs of their calls, which come in the same order.
    fn forgotten(&self, findings: &Findings) -> Vec<Forgotten> {
        let mut out = Vec::new();
        let mut start = 0;
        let mut references = findings.references.iter().peekable();
        let mut edits = findings.edits.iter().peekable();
        for (call, needs) in self.index.calls.iter().enumerate() {
            for nth in 0..needs.references.len() {
                let row = references.next_if(|row| row.call == call);
                if let Some(row) = row.filter(|row| !row.kept) {
                    out.push(Forgotten {
                        need: start + nth,
                        left_view_at: row.left_view_at.unwrap_or(call),
                    });
                }
            }
            start += needs.references.len();
            for nth in 0..needs.edits.len() {
                let row = edits.next_if(|row| row.call == call);
                if row.is_some_and(|row| !row.kept) {
                    let left = self.edits.get(call).and_then(|edits| edits[nth]);
                    out.push(Forgotten { need: start + nth, left_view_at: left.unwrap_or(call) });
                }
            }
            start += needs.edits.len();
        }
        out
    }

    /// Takes over what was appended; the first position that is new.
    fn append(&mut self, conversation: &Conversation) {
        let (history, meter) = (conversation.history(), meter(conversation));
        for pos in self.seen..history.len() {
            let message = history.message(pos);
            if message.is_entry() {
                continue;
            }
            self.positions.push(pos);
            self.left.push(vec![None; message.parts.len()]);
            self.looks.push(Look {
                state: State::Kept,
                tokens: meter.counts(pos).total(),
                shown: None,
            });
        }
        self.seen = history.len();
    }

    /// What stands in the view of the messages that compactions wrote.
    fn stand(&mut self, conversation: &Conversation, call: usize) -> Vec<usize> {
        let (history, view) = (conversation.history(), conversation.view());
        let mut standing = Vec::new();
        for place in view.places() {
            let shown = view.show(history, *place);
            let Origin::Entry(kind) = shown.message.origin else {
                continue;
            };
            let message = shown.to_shared();
            let text = message.shown_text();
            let key = (message.id.clone(), text);
            let known = self.known.get(&key).copied();
            standing.push(known.unwrap_or_else(|| {
                let (text, cut) = beginning(&key.1, self.detail.written);
                self.written.push(Written {
                    kind,
                    role: message.role,
                    call,
                    tokens: meter(conversation).shown(*place),
                    text,
                    cut,
                });
                let index = self.written.len() - 1;
                self.known.insert(key, index);
                index
            }));
        }
        standing
    }

    /// Looks at every message again, after a fold.
    fn look(&mut self, conversation: &Conversation, call: usize, summarised: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        for message in 0..self.positions.len() {
            let pos = self.positions[message];
            let before = self.looks[message];
            let now = self.look_at(conversation, pos, before.state, summarised);
            let view = conversation.view();
            for (part, left) in self.left[message].iter_mut().enumerate() {
                let edited = view.edit(PartPos { item: pos, part }).is_some();
                if edited || !view.is_visible(pos) {
                    left.get_or_insert(call);
                } else {
                    *left = None;
                }
            }
            if now != before {
                self.looks[message] = now;
                changes.push(Change {
                    message,
                    state: now.state,
                    tokens: now.tokens,
                    shown: now.shown,
                });
            }
        }
        changes
    }

    fn look_at(
        &mut self,
        conversation: &Conversation,
        pos: Pos,
        before: State,
        summarised: bool,
    ) -> Look {
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
            tokens: meter(conversation).shown(Place::Item(pos)),
            shown: text.map(|text| self.intern(text)),
        }
    }

    fn intern(&mut self, text: &str) -> usize {
        let (text, _) = one_line(text, SHOWN);
        if let Some(known) = self.texts.get(&text) {
            return *known;
        }
        self.shown.push(text.clone());
        self.texts.insert(text, self.shown.len() - 1);
        self.shown.len() - 1
    }
}

impl Probe for Tracer {
    fn call(&mut self, conversation: &Conversation, call: usize, _answer: &Message) {
        self.append(conversation);
        let folds = conversation.folds();
        let last = folds.last().map(|fold| fold.id);
        if last != self.fold {
            let from = self.folds.min(folds.len());
            let summarised = folds[from..].iter().any(|fold| writes_summary(&fold.plan));
            let changes = self.look(conversation, call, summarised);
            let standing = self.stand(conversation, call);
            if !changes.is_empty() || standing != self.standing {
                self.standing.clone_from(&standing);
                self.steps.push(Step { call, changes, standing });
            }
            self.fold = last;
            self.folds = folds.len();
        }
        let index = Arc::clone(&self.index);
        let edits = index.calls.get(call).map_or(&[][..], |needs| &needs.edits);
        self.edits.push(edits.iter().map(|edit| self.left(&edit.places)).collect());
    }
}

impl Tracer {
    /// When the last of these parts had left the view.
    fn left(&self, places: &[LogPart]) -> Option<usize> {
        let left = |(message, part): &LogPart| *self.left.get(*message)?.get(*part)?;
        places.iter().map(left).max().flatten()
    }
}

/// The meter of the measuring estimator: the replay adds it behind those of the strategy.
fn meter(conversation: &Conversation) -> &Meter {
    conversation.meter(conversation.strategy().estimators.len())
}

/// Whether something stands for the messages that a plan hides.
fn writes_summary(plan: &Plan) -> bool {
    let slots = plan.layout.iter().flat_map(|layout| &layout.slots);
    let inserted = slots.filter_map(|slot| match slot {
        Slot::Insert(insert) => Some(insert.origin),
        Slot::Keep(_) => None,
    });
    inserted
        .chain(plan.entries.iter().filter_map(|entry| match entry.origin {
            Origin::Entry(kind) => Some(kind),
            Origin::Log => None,
        }))
        .any(|kind| kind == EntryKind::Summary)
}

/// A text up to a number of characters, and whether that is not all.
fn beginning(text: &str, limit: usize) -> (String, bool) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}
