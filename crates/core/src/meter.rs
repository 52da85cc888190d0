//! Running token totals over a history and its view, under one estimator.
//!
//! A part is counted once, when it is appended; afterwards only what an edit or a layout touches is
//! counted again, so that the cost of a call does not grow with the history.

use crate::frame::Frame;
use crate::history::History;
use crate::log::{Counts, Message};
use crate::stage::Estimator;
use crate::view::{PartEdit, PartPos, Place, Pos, View};
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Metered {
    counts: Arc<Counts>,
    /// Where its parts begin in [`Meter::parts`].
    first: usize,
    /// Tokens of the message as it is shown: the counts with the edits taken into account.
    shown: u64,
}

/// Token counts under one estimator.
#[derive(Clone, Debug)]
pub struct Meter {
    estimator: Arc<dyn Estimator>,
    items: Vec<Metered>,
    /// Tokens of every part as it is shown now, message after message. Flat, because a pruner asks for
    /// thousands of them in a row.
    parts: Vec<u64>,
    inserts: Vec<u64>,
    view: u64,
    frame: u64,
}

impl Meter {
    /// A meter over an empty history.
    pub fn new(estimator: Arc<dyn Estimator>) -> Self {
        Self {
            estimator,
            items: Vec::new(),
            parts: Vec::new(),
            inserts: Vec::new(),
            view: 0,
            frame: 0,
        }
    }

    /// The estimator that counts.
    pub fn estimator(&self) -> &Arc<dyn Estimator> {
        &self.estimator
    }

    /// Tokens of everything that is shown.
    pub fn view_tokens(&self) -> u64 {
        self.view
    }

    /// Tokens of the frame.
    pub fn frame_tokens(&self) -> u64 {
        self.frame
    }

    /// Counts of a message as it was appended.
    pub fn counts(&self, pos: Pos) -> &Counts {
        &self.items[pos].counts
    }

    /// Tokens of a part as it was appended.
    pub fn part(&self, at: PartPos) -> u64 {
        self.items
            .get(at.item)
            .and_then(|item| item.counts.parts.get(at.part).copied())
            .unwrap_or(0)
    }

    /// Tokens of a part as it is shown now.
    pub fn part_shown(&self, _view: &View, at: PartPos) -> u64 {
        self.index(at).map_or(0, |index| self.parts[index])
    }

    /// Where a part is in [`Meter::parts`].
    fn index(&self, at: PartPos) -> Option<usize> {
        self.parts_of(at.item).and_then(|mut parts| parts.nth(at.part))
    }

    fn parts_of(&self, item: Pos) -> Option<Range<usize>> {
        let first = self.items.get(item)?.first;
        let end = self.items.get(item + 1).map_or(self.parts.len(), |next| next.first);
        Some(first..end)
    }

    /// Tokens of the message at a place as it is shown now.
    pub fn shown(&self, place: Place) -> u64 {
        match place {
            Place::Item(pos) => self.items[pos].shown,
            Place::Insert(index) => self.inserts[index],
        }
    }

    /// Tokens of a message that is not in the history.
    pub fn measure(&self, message: &Message) -> u64 {
        message.counts.get_or_count(self.estimator.id(), || self.estimator.count(message)).total()
    }

    pub(crate) fn set_frame(&mut self, frame: &Frame) {
        self.frame = self.estimator.per_request() + frame.tokens(|text| self.estimator.text(text));
    }

    pub(crate) fn append(&mut self, message: &Message) {
        let counts =
            message.counts.get_or_count(self.estimator.id(), || self.estimator.count(message));
        let shown = counts.total();
        self.view += shown;
        let first = self.parts.len();
        self.parts.extend_from_slice(&counts.parts);
        self.items.push(Metered { counts, first, shown });
    }

    /// Tokens of a part if it showed `text`.
    pub(crate) fn part_with(&self, history: &History, at: PartPos, text: &str) -> u64 {
        let part = history.message(at.item).parts.get(at.part);
        part.map_or(0, |part| self.estimator.part(part, text))
    }

    /// Follows an edit, or the end of one.
    pub(crate) fn edit(
        &mut self,
        history: &History,
        view: &View,
        at: PartPos,
        edit: Option<&PartEdit>,
    ) {
        let tokens = match edit {
            Some(edit) => self.part_with(history, at, &edit.text),
            None => self.part(at),
        };
        self.set_part(view, at, tokens);
    }

    /// The same where the tokens that a part shows now are known.
    pub(crate) fn set_part(&mut self, view: &View, at: PartPos, tokens: u64) {
        let Some(index) = self.index(at) else {
            return;
        };
        let before = std::mem::replace(&mut self.parts[index], tokens);
        let item = &mut self.items[at.item];
        item.shown = item.shown - before + tokens;
        if view.is_visible(at.item) {
            self.view = self.view - before + tokens;
        }
    }

    /// Follows a new layout: counts inserts that it has not met and sums what is shown.
    pub(crate) fn relayout(&mut self, view: &View) {
        for message in view.inserts().iter().skip(self.inserts.len()) {
            let tokens = self.measure(message);
            self.inserts.push(tokens);
        }
        self.view = view.places().iter().map(|place| self.shown(*place)).sum();
    }
}
