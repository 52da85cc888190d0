//! Which identifiers stand in the view now, kept up to date from request to request.
//!
//! Only what was appended and what folds changed is looked at: the positions that their edits name,
//! and, after a new layout, the messages whose visibility it turned over. The cost of a request does
//! not grow with the history.

use super::vocabulary::{Id, Vocabulary};
use foldback_core::conversation::{Conversation, Fold, FoldId};
use foldback_core::view::{PartPos, Place, Pos};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How a part stands in the view.
#[derive(Clone, Debug)]
enum State {
    /// The view does not show the message.
    Hidden,
    /// As it was appended.
    Original,
    /// With another text in its place, and what that makes present.
    Edited(Arc<str>, Arc<[Id]>),
}

impl State {
    fn is_original(&self) -> bool {
        matches!(self, Self::Original)
    }
}

#[derive(Clone, Debug)]
struct Part {
    state: State,
    /// Identifiers of the part as it was appended.
    ids: Arc<[Id]>,
    /// Identifiers of the name and the raw arguments of a call.
    syntax: Arc<[Id]>,
}

impl Part {
    fn shown(&self) -> Option<&Arc<[Id]>> {
        match &self.state {
            State::Hidden => None,
            State::Original => Some(&self.ids),
            State::Edited(_, ids) => Some(ids),
        }
    }
}

#[derive(Clone, Debug)]
struct Item {
    entry: bool,
    visible: bool,
    parts: Vec<Part>,
}

/// What is different since the request before.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    /// Something was folded.
    pub(super) folded: bool,
    /// First position that was appended.
    pub(super) appended_from: Pos,
    /// Identifiers that a part more or a part less has, ascending.
    pub(super) touched: Vec<Id>,
    /// Identifiers of the parts that folds took out or put another text in place of, ascending.
    pub(super) dropped: Vec<Id>,
}

/// Per identifier, the number of visible parts that have it.
#[derive(Clone, Debug)]
pub(super) struct Presence {
    vocabulary: Arc<Vocabulary>,
    items: Vec<Item>,
    /// Position in the history of each message of the log.
    positions: Vec<Pos>,
    /// Entries in the history, by position.
    entries: Vec<Pos>,
    /// Identifiers of the inserts that are shown, by index.
    inserts: BTreeMap<usize, Arc<[Id]>>,
    visible: Vec<u32>,
    /// Per identifier, the number of parts of the log that have it and are not shown as recorded.
    gone: Vec<u32>,
    /// Identifiers of texts that compactions wrote; placeholders repeat.
    known: HashMap<Arc<str>, Arc<[Id]>>,
    folds: usize,
    last_fold: Option<FoldId>,
    touched: BTreeSet<Id>,
    dropped: BTreeSet<Id>,
}

impl Presence {
    pub(super) fn new(vocabulary: Arc<Vocabulary>) -> Self {
        let length = vocabulary.entries.len();
        Self {
            vocabulary,
            items: Vec::new(),
            positions: Vec::new(),
            entries: Vec::new(),
            inserts: BTreeMap::new(),
            visible: vec![0; length],
            gone: vec![0; length],
            known: HashMap::new(),
            folds: 0,
            last_fold: None,
            touched: BTreeSet::new(),
            dropped: BTreeSet::new(),
        }
    }

    /// The folds since the last update, oldest first.
    pub(super) fn new_folds<'c>(&self, conversation: &'c Conversation) -> &'c [Fold] {
        let folds = conversation.folds();
        folds.get(self.folds..).unwrap_or_default()
    }

    /// Takes over what was appended and folded since the last update.
    pub(super) fn update(&mut self, conversation: &Conversation) -> Change {
        let first_new = self.items.len();
        for pos in first_new..conversation.history().len() {
            self.append(conversation, pos);
        }
        let last = conversation.folds().last().map(|fold| fold.id);
        let folded = last != self.last_fold;
        if folded {
            self.follow(conversation, first_new);
        } else {
            for pos in first_new..self.items.len() {
                self.show(conversation, pos);
            }
        }
        self.folds = conversation.folds().len();
        self.last_fold = last;
        Change {
            folded,
            appended_from: first_new,
            touched: std::mem::take(&mut self.touched).into_iter().collect(),
            dropped: std::mem::take(&mut self.dropped).into_iter().collect(),
        }
    }

    /// Whether a visible part has an identifier.
    pub(super) fn has(&self, id: Id) -> bool {
        self.visible[id as usize] > 0
    }

    /// Whether a part of the log that has an identifier is not shown as it was recorded.
    pub(super) fn is_gone(&self, id: Id) -> bool {
        self.gone[id as usize] > 0
    }

    /// The latest place in stored order, or all places, whose message has an identifier that some call
    /// uses.
    pub(super) fn places(&self, id: Id) -> impl Iterator<Item = Place> {
        let occurrences = &self.vocabulary.occurrences[id as usize];
        let until = occurrences.partition_point(|(ordinal, _)| *ordinal < self.positions.len());
        let in_log = occurrences[..until].iter().rev().filter_map(move |(ordinal, part)| {
            let pos = self.positions[*ordinal];
            let ids = self.items[pos].parts.get(*part)?.shown()?;
            ids.binary_search(&id).is_ok().then_some(Place::Item(pos))
        });
        in_log.chain(self.written(id))
    }

    /// The places that compactions wrote and that have an identifier.
    fn written(&self, id: Id) -> impl Iterator<Item = Place> {
        let has = move |ids: &Arc<[Id]>| ids.binary_search(&id).is_ok();
        let entries = self.entries.iter().filter(move |pos| {
            let parts = self.items[**pos].parts.iter();
            parts.filter_map(Part::shown).any(has)
        });
        let inserts = self.inserts.iter().filter(move |(_, ids)| has(ids));
        entries.map(|pos| Place::Item(*pos)).chain(inserts.map(|(index, _)| Place::Insert(*index)))
    }

    fn append(&mut self, conversation: &Conversation, pos: Pos) {
        let message = conversation.history().message(pos);
        let entry = message.is_entry();
        let ordinal = self.positions.len();
        if entry {
            self.entries.push(pos);
        } else {
            self.positions.push(pos);
        }
        let mut parts = Vec::with_capacity(message.parts.len());
        for (index, part) in message.parts.iter().enumerate() {
            let (ids, syntax) = if entry {
                (self.vocabulary.find(&part.shown()), Arc::default())
            } else {
                let vocabulary = &self.vocabulary;
                (vocabulary.part(ordinal, index), vocabulary.syntax(ordinal, index))
            };
            // Shown at first, so that what is folded before any request has it counts as dropped.
            for id in ids.iter() {
                self.visible[*id as usize] += 1;
                self.touched.insert(*id);
            }
            parts.push(Part { state: State::Original, ids, syntax });
        }
        self.items.push(Item { entry, visible: true, parts });
    }

    fn follow(&mut self, conversation: &Conversation, first_new: Pos) {
        let folds = conversation.folds();
        let continues =
            self.folds == 0 || folds.get(self.folds - 1).map(|fold| fold.id) == self.last_fold;
        let new = if continues {
            folds.get(self.folds..).unwrap_or_default()
        } else {
            // Something was undone; everything is looked at again.
            folds
        };
        let moved = !continues || new.iter().any(|fold| fold.plan.layout.is_some());
        let mut changed: BTreeSet<Pos> = (first_new..self.items.len()).collect();
        if continues {
            let edits = new.iter().flat_map(|fold| &fold.plan.edits);
            changed.extend(edits.map(|edit| edit.at.item));
        } else {
            changed.extend(0..self.items.len());
        }
        if moved {
            let view = conversation.view();
            let turned = self.items.iter().enumerate();
            changed.extend(
                turned
                    .filter(|(pos, item)| item.visible != view.is_visible(*pos))
                    .map(|(pos, _)| pos),
            );
        }
        for pos in changed {
            self.show(conversation, pos);
        }
        if moved {
            self.show_inserts(conversation);
        }
    }

    /// Brings the parts of a message up to date.
    fn show(&mut self, conversation: &Conversation, pos: Pos) {
        let view = conversation.view();
        let visible = view.is_visible(pos);
        self.items[pos].visible = visible;
        for part in 0..self.items[pos].parts.len() {
            let edit = view.edit(PartPos { item: pos, part });
            let now = match (edit, &self.items[pos].parts[part].state) {
                _ if !visible => State::Hidden,
                (None, _) => State::Original,
                (Some(edit), State::Edited(text, ids)) if edit.text == *text => {
                    State::Edited(Arc::clone(text), Arc::clone(ids))
                }
                (Some(edit), _) => State::Edited(Arc::clone(&edit.text), self.find(&edit.text)),
            };
            self.set(pos, part, now);
        }
    }

    fn set(&mut self, pos: Pos, part: usize, now: State) {
        let Self { items, visible, gone, touched, dropped, .. } = self;
        let item = &mut items[pos];
        let part = &mut item.parts[part];
        let same = match (&part.state, &now) {
            (State::Hidden, State::Hidden) | (State::Original, State::Original) => true,
            (State::Edited(before, _), State::Edited(after, _)) => before == after,
            _ => false,
        };
        if same {
            return;
        }
        if let Some(ids) = part.shown() {
            for id in ids.iter() {
                visible[*id as usize] -= 1;
                touched.insert(*id);
                dropped.insert(*id);
            }
        }
        if !item.entry && part.state.is_original() != now.is_original() {
            for id in part.ids.iter().chain(part.syntax.iter()) {
                let count = &mut gone[*id as usize];
                *count = if now.is_original() { *count - 1 } else { *count + 1 };
            }
        }
        part.state = now;
        if let Some(ids) = part.shown() {
            for id in ids.iter() {
                visible[*id as usize] += 1;
                touched.insert(*id);
            }
        }
    }

    fn find(&mut self, text: &Arc<str>) -> Arc<[Id]> {
        if let Some(ids) = self.known.get(text) {
            return Arc::clone(ids);
        }
        let ids = self.vocabulary.find(text);
        self.known.insert(Arc::clone(text), Arc::clone(&ids));
        ids
    }

    fn show_inserts(&mut self, conversation: &Conversation) {
        let (history, view) = (conversation.history(), conversation.view());
        let mut before = std::mem::take(&mut self.inserts);
        for place in view.places() {
            let Place::Insert(index) = place else {
                continue;
            };
            if self.inserts.contains_key(index) {
                continue;
            }
            let ids = before.remove(index).unwrap_or_else(|| {
                let text = view.message(history, *place).shown_text();
                let ids = self.vocabulary.find(&text);
                for id in ids.iter() {
                    self.visible[*id as usize] += 1;
                    self.touched.insert(*id);
                }
                ids
            });
            self.inserts.insert(*index, ids);
        }
        for ids in before.into_values() {
            for id in ids.iter() {
                self.visible[*id as usize] -= 1;
                self.touched.insert(*id);
                self.dropped.insert(*id);
            }
        }
    }
}
