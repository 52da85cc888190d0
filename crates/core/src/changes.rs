//! The changes of a view, in order, for those who follow it; see [`crate::delta`].

use crate::position::{PartPos, Place};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The edit over a part changed.
    Edited(PartPos),
    /// It is no longer shown.
    Hidden(Place),
    /// It is shown.
    ShownMessage(Place),
    /// Something else stands from this place on.
    Moved,
}

/// Everything that was done to a view, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(Vec<(Change, usize)>);

impl Changes {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Those from the one with this number on, each with the place in front of which nothing changed.
    pub(crate) fn since(&self, number: usize) -> &[(Change, usize)] {
        self.0.get(number..).unwrap_or_default()
    }

    /// The edit over a part changed; the message is at `place`.
    pub(crate) fn edited(&mut self, at: PartPos, place: usize) {
        self.0.push((Change::Edited(at), place));
    }

    /// The places from `first` on are others.
    pub(crate) fn moved(&mut self, first: usize) {
        self.0.push((Change::Moved, first));
    }

    /// A place is now shown, or is no longer.
    pub(crate) fn turned(&mut self, place: Place, shown: bool, first: usize) {
        let what = if shown { Change::ShownMessage(place) } else { Change::Hidden(place) };
        self.0.push((what, first));
    }
}
