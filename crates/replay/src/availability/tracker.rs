//! Which references stand in the view now, kept up to date from fold to fold.

use super::index::{Index, LogPart};
use foldback_core::conversation::{Conversation, FoldId};
use foldback_core::view::{EditKind, PartEdit, PartPos, Place, Pos};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// How a part stands in the view.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// The view does not show the message.
    Hidden,
    /// As it was recorded, or as a compaction appended it.
    Original,
    /// With another text in its place.
    Edited(EditKind, Arc<str>),
}

#[derive(Clone, Debug)]
struct TrackedPart {
    state: State,
    /// References of the part as it was appended.
    ids: Arc<[u32]>,
    /// Number of the first call whose view did not show it as it was.
    left_at: Option<usize>,
}

#[derive(Clone, Debug)]
struct Item {
    entry: bool,
    parts: Vec<TrackedPart>,
}

/// How a reference stands in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    pub(super) kept: bool,
    pub(super) rescued: bool,
    pub(super) left_at: Option<usize>,
}

/// Per reference, the number of visible parts that have it.
#[derive(Clone, Debug)]
pub(super) struct Tracker {
    index: Arc<Index>,
    items: Vec<Item>,
    /// Position in the history of each message of the log.
    positions: Vec<Pos>,
    /// References of the inserts that are shown, by index.
    inserts: HashMap<usize, Arc<[u32]>>,
    originals: Vec<u32>,
    written: Vec<u32>,
    left: Vec<Option<usize>>,
    touched: BTreeSet<u32>,
    /// References of texts that compactions wrote; placeholders repeat.
    known: HashMap<Arc<str>, Arc<[u32]>>,
    fold: Option<FoldId>,
}

impl Tracker {
    pub(super) fn new(index: Arc<Index>) -> Self {
        let references = index.references.len();
        Self {
            index,
            items: Vec::new(),
            positions: Vec::new(),
            inserts: HashMap::new(),
            originals: vec![0; references],
            written: vec![0; references],
            left: vec![None; references],
            touched: BTreeSet::new(),
            known: HashMap::new(),
            fold: None,
        }
    }

    /// Takes over what was appended and folded before the request of `call`.
    pub(super) fn update(&mut self, conversation: &Conversation, call: usize) {
        let first_new = self.items.len();
        for pos in first_new..conversation.history().len() {
            self.append(conversation, pos);
        }
        let fold = conversation.folds().last().map(|fold| fold.id);
        let from = if fold == self.fold { first_new } else { 0 };
        for pos in from..self.items.len() {
            self.show(conversation, pos, call);
        }
        if fold != self.fold {
            self.show_inserts(conversation);
        }
        self.fold = fold;
        for reference in std::mem::take(&mut self.touched) {
            let at = reference as usize;
            if self.originals[at] + self.written[at] == 0 {
                self.left[at].get_or_insert(call);
            } else {
                self.left[at] = None;
            }
        }
    }

    /// Number of messages of the log so far.
    pub(super) fn log_len(&self) -> usize {
        self.positions.len()
    }

    pub(super) fn presence(&self, reference: u32) -> Presence {
        let at = reference as usize;
        let (original, written) = (self.originals[at] > 0, self.written[at] > 0);
        Presence {
            kept: original || written,
            rescued: written && !original,
            left_at: self.left[at],
        }
    }

    /// Whether the view shows a part of the log as it was recorded.
    pub(super) fn is_original(&self, at: LogPart) -> bool {
        self.tracked(at).is_some_and(|part| part.state == State::Original)
    }

    /// The first call whose view did not show a part as it was recorded; `None` while it does.
    pub(super) fn left_at(&self, at: LogPart) -> Option<usize> {
        self.tracked(at).and_then(|part| part.left_at)
    }

    /// Whether a text stands in what compactions wrote or cut, as far as the view shows it.
    pub(super) fn is_written(&self, conversation: &Conversation, text: &str) -> bool {
        if self.fold.is_none() {
            return false;
        }
        let (history, view) = (conversation.history(), conversation.view());
        view.places().iter().any(|place| {
            let message = view.message(history, *place);
            let has = |part: &foldback_core::log::Part| part.shown().contains(text);
            match place {
                Place::Insert(_) => message.parts.iter().any(has),
                Place::Item(_) if message.is_entry() => message.parts.iter().any(has),
                Place::Item(pos) => self.items.get(*pos).is_some_and(|item| {
                    item.parts.iter().any(|part| match &part.state {
                        State::Edited(_, shown) => shown.contains(text),
                        State::Hidden | State::Original => false,
                    })
                }),
            }
        })
    }

    fn tracked(&self, (ordinal, part): LogPart) -> Option<&TrackedPart> {
        let pos = self.positions.get(ordinal)?;
        self.items.get(*pos)?.parts.get(part)
    }

    fn append(&mut self, conversation: &Conversation, pos: Pos) {
        let message = conversation.history().message(pos);
        let ids: Vec<Arc<[u32]>> = if message.is_entry() {
            let parts = message.parts.iter();
            parts.map(|part| self.index.find(&part.shown())).collect()
        } else {
            let ordinal = self.positions.len();
            self.positions.push(pos);
            self.index.parts.get(ordinal).cloned().unwrap_or_default()
        };
        // What is folded away before any request had it was there all the same.
        for found in &ids {
            self.touched.extend(found.iter().copied());
        }
        let parts =
            ids.into_iter().map(|ids| TrackedPart { state: State::Hidden, ids, left_at: None });
        self.items.push(Item { entry: message.is_entry(), parts: parts.collect() });
    }

    fn show(&mut self, conversation: &Conversation, pos: Pos, call: usize) {
        let view = conversation.view();
        let visible = view.is_visible(pos);
        for part in 0..self.items[pos].parts.len() {
            let edit = view.edit(PartPos { item: pos, part });
            let now = match edit {
                _ if !visible => State::Hidden,
                None => State::Original,
                Some(PartEdit { kind, text, .. }) => State::Edited(*kind, Arc::clone(text)),
            };
            let left = now != State::Original;
            let tracked = &mut self.items[pos].parts[part];
            if left {
                tracked.left_at.get_or_insert(call);
            } else {
                tracked.left_at = None;
            }
            if tracked.state != now {
                let before = std::mem::replace(&mut tracked.state, now.clone());
                self.count(pos, part, &before, false);
                self.count(pos, part, &now, true);
            }
        }
    }

    /// Adds or takes away what a part contributes in a state. What is left of a part that was cut is
    /// original, what stands in place of a cleared one is not.
    fn count(&mut self, pos: Pos, part: usize, state: &State, add: bool) {
        let item = &self.items[pos];
        let (ids, original) = match state {
            State::Hidden => return,
            State::Original => (Arc::clone(&item.parts[part].ids), !item.entry),
            State::Edited(kind, text) => {
                let original = *kind == EditKind::Truncate && !item.entry;
                (self.find(text), original)
            }
        };
        self.tally(&ids, original, add);
    }

    fn tally(&mut self, ids: &[u32], original: bool, add: bool) {
        let counts = if original { &mut self.originals } else { &mut self.written };
        for reference in ids {
            let count = &mut counts[*reference as usize];
            *count = if add { *count + 1 } else { count.saturating_sub(1) };
            self.touched.insert(*reference);
        }
    }

    fn find(&mut self, text: &Arc<str>) -> Arc<[u32]> {
        if let Some(ids) = self.known.get(text) {
            return Arc::clone(ids);
        }
        let ids = self.index.find(text);
        self.known.insert(Arc::clone(text), Arc::clone(&ids));
        ids
    }

    fn show_inserts(&mut self, conversation: &Conversation) {
        let (history, view) = (conversation.history(), conversation.view());
        let mut before = std::mem::take(&mut self.inserts);
        for place in view.places() {
            let Place::Insert(insert) = place else {
                continue;
            };
            if self.inserts.contains_key(insert) {
                continue;
            }
            let ids = before.remove(insert).unwrap_or_else(|| {
                let ids = self.index.find(&view.message(history, *place).shown_text());
                self.tally(&ids, false, true);
                ids
            });
            self.inserts.insert(*insert, ids);
        }
        let mut gone: Vec<(usize, Arc<[u32]>)> = before.into_iter().collect();
        gone.sort_unstable_by_key(|(insert, _)| *insert);
        for (_, ids) in gone {
            self.tally(&ids, false, false);
        }
    }
}
