//! Position: where in a request the content that the call needs is.
//!
//! For a reference of a call that is in the view, the position is that of the middle of the message
//! that has it nearest to the end, in tokens of the whole request: 0 is the start of the frame, 1 the
//! end of the view. Models use the middle of a long context worse than its ends (Liu et al., *Lost in
//! the Middle*, TACL 2024), so the share between 0.2 and 0.8 is reported; its meaning depends on the
//! model.

use crate::availability::FAR;
use crate::drive::Request;
use crate::index::Index;
use foldback_core::view::Place;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Bins of a [`Histogram`].
pub const BINS: usize = 10;

/// Positions in ten equal bins. Sessions [merge](Self::merge) by addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// Keeps the offsets of the messages of a view. What stands in front of the first change is not added
/// up again.
#[derive(Clone, Debug)]
pub(super) struct Offsets {
    index: Arc<Index>,
    /// By position in the history, the offset of the middle of a message that the view shows.
    middles: Vec<u64>,
    inserts: HashMap<usize, u64>,
    /// By place, the tokens in front of it, and the last position in front of it where all are in
    /// stored order; one more at the end.
    fronts: Vec<(u64, Option<usize>)>,
    out: Positions,
}

/// Stands for a last position where places are not in stored order.
const DISORDER: Option<usize> = Some(usize::MAX);

impl Offsets {
    pub(super) fn new(index: Arc<Index>) -> Self {
        Self {
            index,
            middles: Vec::new(),
            inserts: HashMap::new(),
            fronts: vec![(0, None)],
            out: Positions::default(),
        }
    }

    /// Takes over a request and files the positions of what its call needs.
    pub(super) fn look(&mut self, request: &Request<'_>) {
        self.add_up(request);
        let frame = request.meter.frame_tokens();
        let (tokens, last) = self.fronts.last().copied().unwrap_or_default();
        let index = Arc::clone(&self.index);
        let needs = index.calls.get(request.call);
        for need in needs.into_iter().flat_map(|needs| &needs.references) {
            if !request.tracker.has(need.id) {
                continue;
            }
            let places = request.tracker.places(need.reference);
            let mut middles = places.map(|place| self.middle(place));
            // In stored order the first one found in the history is the nearest.
            let nearest = if last == DISORDER { middles.max() } else { middles.next() };
            if let Some(middle) = nearest {
                let (at, whole) = (frame + middle, frame + tokens);
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

    fn add_up(&mut self, request: &Request<'_>) {
        let meter = request.meter;
        let places = request.conversation.view().places();
        self.middles.resize(request.conversation.history().len(), 0);
        self.fronts.truncate(request.delta.same_places + 1);
        let (mut tokens, mut last) = self.fronts.last().copied().unwrap_or_default();
        for place in &places[self.fronts.len() - 1..] {
            let shown = meter.shown(*place);
            let middle = tokens + shown / 2;
            match place {
                Place::Item(pos) => {
                    last = if last < Some(*pos) { Some(*pos) } else { DISORDER };
                    self.middles[*pos] = middle;
                }
                Place::Insert(index) => {
                    self.inserts.insert(*index, middle);
                }
            }
            tokens += shown;
            self.fronts.push((tokens, last));
        }
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
