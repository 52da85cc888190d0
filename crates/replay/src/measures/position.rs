//! Position: where in a request what the call needs stands.
//!
//! For a reference of a call that stands in the view, the position is that of the middle of the message
//! that has it nearest to the end, in tokens of the whole request: 0 is the start of the frame, 1 the
//! end of the view. Models use the middle of a long context worse than its ends (Liu et al., *Lost in
//! the Middle*, TACL 2024), so the share between 0.2 and 0.8 is given; what it means depends on the
//! model.

use super::presence::{Change, Presence};
use super::vocabulary::Vocabulary;
use crate::availability::FAR;
use foldback_core::conversation::Conversation;
use foldback_core::view::Place;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Bins of a [`Histogram`].
pub const BINS: usize = 10;

/// Positions in ten equal bins. Sessions [merge](Self::merge) by addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram(pub [u64; BINS]);

impl Histogram {
    /// Files the position `at / whole`.
    fn add(&mut self, at: u64, whole: u64) {
        let bin = u128::from(at) * BINS as u128 / u128::from(whole.max(1));
        let bin = usize::try_from(bin).unwrap_or(BINS).min(BINS - 1);
        self.0[bin] += 1;
    }

    /// Adds the positions of other sessions.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// Number of positions.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Share from 0.2 on and below 0.8; `None` without positions.
    pub fn middle(&self) -> Option<f64> {
        let middle: u64 = self.0[2..8].iter().sum();
        (self.count() > 0).then(|| middle as f64 / self.count() as f64)
    }
}

/// Positions of what calls needed and the view had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions {
    /// All references.
    pub all: Histogram,
    /// Those that were last seen more than [`FAR`] calls ago. The others stand at the end whatever a
    /// strategy does.
    pub far: Histogram,
}

impl Positions {
    /// Adds the positions of other sessions.
    pub fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.far.merge(&other.far);
    }
}

/// Keeps the offsets of the messages of a view. Between folds a view only grows, so only what was
/// appended is added up.
#[derive(Clone, Debug)]
pub(super) struct Offsets {
    vocabulary: Arc<Vocabulary>,
    meter: usize,
    /// By position in the history, the offset of the middle of a message that the view shows.
    middles: Vec<u64>,
    inserts: HashMap<usize, u64>,
    /// Places that were added up, their tokens, and whether they are in stored order.
    places: usize,
    tokens: u64,
    in_order: bool,
    out: Positions,
}

impl Offsets {
    pub(super) fn new(vocabulary: Arc<Vocabulary>, meter: usize) -> Self {
        Self {
            vocabulary,
            meter,
            middles: Vec::new(),
            inserts: HashMap::new(),
            places: 0,
            tokens: 0,
            in_order: true,
            out: Positions::default(),
        }
    }

    /// Takes over a request and files the positions of what its call needs.
    pub(super) fn look(
        &mut self,
        conversation: &Conversation,
        presence: &Presence,
        change: &Change,
        call: usize,
    ) {
        self.add_up(conversation, change.folded);
        let frame = conversation.meter(self.meter).frame_tokens();
        let vocabulary = Arc::clone(&self.vocabulary);
        for need in vocabulary.needs.get(call).into_iter().flatten() {
            if !presence.has(need.id) {
                continue;
            }
            let mut middles = presence.places(need.id).map(|place| self.middle(place));
            // In stored order the first one found in the history is the nearest.
            let nearest = if self.in_order { middles.next() } else { middles.max() };
            if let Some(middle) = nearest {
                let (at, whole) = (frame + middle, frame + self.tokens);
                self.out.all.add(at, whole);
                if need.distance > FAR {
                    self.out.far.add(at, whole);
                }
            }
        }
    }

    pub(super) fn finish(self) -> Positions {
        self.out
    }

    fn middle(&self, place: Place) -> u64 {
        let middle = match place {
            Place::Item(pos) => self.middles.get(pos),
            Place::Insert(index) => self.inserts.get(&index),
        };
        middle.copied().unwrap_or(0)
    }

    fn add_up(&mut self, conversation: &Conversation, anew: bool) {
        let meter = conversation.meter(self.meter);
        let places = conversation.view().places();
        if anew {
            self.inserts.clear();
            (self.places, self.tokens, self.in_order) = (0, 0, true);
        }
        self.middles.resize(conversation.history().len(), 0);
        let mut last = None;
        for place in &places[self.places..] {
            let shown = meter.shown(*place);
            let middle = self.tokens + shown / 2;
            match place {
                Place::Item(pos) => {
                    self.in_order &= last < Some(*pos);
                    last = Some(*pos);
                    self.middles[*pos] = middle;
                }
                Place::Insert(index) => {
                    self.inserts.insert(*index, middle);
                }
            }
            self.tokens += shown;
        }
        self.places = places.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_and_the_middle() {
        let cases = [
            (0, 100, 0),
            (9, 100, 0),
            (10, 100, 1),
            (20, 100, 2),
            (79, 100, 7),
            (80, 100, 8),
            (100, 100, 9),
            (0, 0, 0),
        ];
        let mut all = Histogram::default();
        for (at, whole, bin) in cases {
            let mut one = Histogram::default();
            one.add(at, whole);
            assert_eq!(one.0[bin], 1, "{at} of {whole}: {one:?}");
            all.merge(&one);
        }
        assert_eq!((all.count(), all.middle()), (8, Some(0.25)));
        assert_eq!(Histogram::default().middle(), None);
    }
}
