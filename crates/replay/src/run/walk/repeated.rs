//! What one fold after the other frees, and what of what is needed outlives how many.

use super::{Track, TrackFiring, Walk};
use crate::stats::Share;
use std::collections::BTreeSet;

/// Generations that are told apart: what one, two, three and more folds came over.
pub const GENERATIONS: usize = 4;

/// The folds of a track one after the other; its prunings where it has no policy that folds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Whether they are folds.
    pub folds: bool,
    /// What each freed, by the preset's own estimator.
    pub freed: Vec<u64>,
    /// What each left in the view.
    pub left: Vec<u64>,
}

impl Track {
    /// What fold after fold did.
    pub fn repeated(&self) -> Repeated {
        let folds = self.has_folds();
        let firings: Vec<&TrackFiring> = self.repeating().collect();
        Repeated {
            folds,
            freed: firings.iter().map(|one| one.own_before.saturating_sub(one.own_after)).collect(),
            left: firings.iter().map(|one| one.own_after).collect(),
        }
    }

    fn has_folds(&self) -> bool {
        self.firings.iter().any(|firing| firing.fold)
    }

    fn repeating(&self) -> impl Iterator<Item = &TrackFiring> {
        let folds = self.has_folds();
        self.firings.iter().filter(move |firing| firing.fold == folds)
    }
}

impl Walk {
    /// Of what *kept* counts, how much was in the view by the number of folds since it was last said: one, two and so
    /// on, the last step open.
    pub fn by_generation(&self, track: &Track) -> [Share; GENERATIONS] {
        let calls: BTreeSet<usize> = track.repeating().map(|firing| firing.call).collect();
        let forgotten: BTreeSet<usize> = track.forgotten.iter().map(|lost| lost.need).collect();
        let mut out = [Share::default(); GENERATIONS];
        for (number, need) in self.needs.iter().enumerate().filter(|(_, need)| need.headline) {
            let since = need.call.saturating_sub(need.distance) + 1;
            let folds = calls.range(since..=need.call).count();
            if let Some(step) = folds.min(GENERATIONS).checked_sub(1) {
                out[step].count(!forgotten.contains(&number));
            }
        }
        out
    }
}
