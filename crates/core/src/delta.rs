//! The changes of a conversation since a given point.
//!
//! To follow a conversation from request to request (a prompt cache, a check of provider rules, a
//! journal, a measurement), keep a [`Cursor`] and ask for a [`ViewDelta`]. Its size is that of the
//! change, so the cost does not depend on the length of the conversation.

use crate::changes::Change;
use crate::conversation::{Conversation, FoldId};
use crate::history::History;
use crate::position::{PartPos, Place, Pos};
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How far a conversation has been followed. The default is its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    messages: usize,
    places: usize,
    changes: usize,
    folds: usize,
    next_fold: FoldId,
}

/// What is different in a conversation since a [`Cursor`]. What was done and taken back in between is
/// not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewDelta {
    /// Positions of the messages that were appended, hidden ones included.
    pub appended: Range<Pos>,
    /// Parts whose edit was laid over, replaced or taken off; ascending, each once.
    pub edited: Vec<PartPos>,
    /// Places that were shown and no longer are; ascending. Appended messages are in none of these.
    pub hidden: Vec<Place>,
    /// Places that were not shown and now are; ascending.
    pub shown: Vec<Place>,
    /// Number of leading places that are the same and show the same.
    pub same_places: usize,
    /// Whether a layout was put in force that shows other places.
    pub moved: bool,
    /// Folds in force that were committed since, as a range of
    /// [`Conversation::folds`](crate::conversation::Conversation::folds).
    pub folds: Range<usize>,
    /// Number of folds that were in force and were taken back.
    pub undone: usize,
}

impl ViewDelta {
    /// Whether anything but an append happened.
    pub fn is_folded(&self) -> bool {
        !self.folds.is_empty() || self.undone > 0
    }

    /// Positions of the messages that are new, or that are shown differently; ascending.
    pub fn positions(&self) -> BTreeSet<Pos> {
        let edited = self.edited.iter().map(|at| at.item);
        let turned = self.hidden.iter().chain(&self.shown).filter_map(|place| place.item());
        self.appended.clone().chain(edited).chain(turned).collect()
    }
}

impl ViewDelta {
    /// What changed in a view since the cursor, which moves to its end. Folds are left to
    /// [`Conversation::delta`].
    pub(crate) fn since(history: &History, view: &View, since: &mut Cursor) -> Self {
        let changes = view.changes().since(since.changes);
        let mut delta = Self {
            appended: since.messages..history.len(),
            same_places: since.places,
            ..Self::default()
        };
        // The first change of a place tells how it stood before.
        let mut stood: BTreeMap<Place, bool> = BTreeMap::new();
        for (what, place) in changes {
            delta.same_places = delta.same_places.min(*place);
            match what {
                Change::Edited(at) => delta.edited.push(*at),
                Change::Hidden(place) => drop(stood.entry(*place).or_insert(true)),
                Change::ShownMessage(place) => drop(stood.entry(*place).or_insert(false)),
                Change::Moved => delta.moved = true,
            }
        }
        delta.edited.sort_unstable();
        delta.edited.dedup();
        for (place, stood) in stood {
            let new = place.item().is_some_and(|pos| pos >= since.messages);
            match (stood, view.shows(place)) {
                _ if new => {}
                (true, false) => delta.hidden.push(place),
                (false, true) => delta.shown.push(place),
                _ => {}
            }
        }
        since.messages = history.len();
        since.places = view.places().len();
        since.changes = view.changes().len();
        delta
    }
}

impl Conversation {
    /// What changed since the cursor, which moves to the end. A cursor belongs to one
    /// conversation.
    pub fn delta(&self, since: &mut Cursor) -> ViewDelta {
        let folds = self.folds();
        let standing = folds.partition_point(|fold| fold.id < since.next_fold);
        let mut delta = ViewDelta::since(self.history(), self.view(), since);
        delta.folds = standing..folds.len();
        delta.undone = since.folds.saturating_sub(standing);
        since.folds = folds.len();
        since.next_fold = self.next_fold();
        delta
    }
}
