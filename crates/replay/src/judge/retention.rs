//! What calls needed, and how much of it was in the view.

use crate::read::index::{Presence, ReferenceNeed};
use crate::stats::Share;
use serde::{Deserialize, Serialize, Serializer};

/// A reference counts as far when it was last seen more than this many calls ago.
pub(crate) const FAR: usize = 3;

/// Upper ends of the steps of the curve over distance; the last step is open.
pub const DISTANCES: [usize; 7] = [1, 2, 3, 5, 10, 20, 50];

/// What calls needed, and how much of it was in the view. Of one call, or summed over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Retention {
    /// References by distance in calls, in the order of [`DISTANCES`], then everything further away.
    pub by_distance: [Share; DISTANCES.len() + 1],
    /// References that had only stood in what tools and users said.
    pub obs: Share,
    /// Those of them that were last seen more than [`FAR`] calls ago.
    pub obs_far: Share,
    /// References kept only in what a compaction wrote; they count as kept.
    pub rescued: u64,
    /// Old texts of edits.
    pub edits: Share,
    /// Pieces reused word for word.
    pub pieces: Share,
    /// Those that were last seen more than [`FAR`] calls ago.
    pub pieces_far: Share,
    /// Rules that the user had given, and those in view word for word.
    pub rules: Share,
    /// Those in view word for word or by all the names in them.
    pub rules_named: u64,
    /// Results that are read again before the call (see [`crate::judge::reread`]).
    pub rereads: u64,
    /// Their size.
    pub reread_tokens: u64,
}

impl Retention {
    /// All references.
    pub fn frr(&self) -> Share {
        sum(&self.by_distance)
    }

    /// References that were last seen more than [`FAR`] calls ago.
    pub fn far(&self) -> Share {
        sum(&self.by_distance[DISTANCES.partition_point(|distance| *distance <= FAR)..])
    }

    /// References of `obs` that were last seen at most [`FAR`] calls ago.
    pub(crate) fn obs_near(&self) -> Share {
        let Share { kept, needed } = self.obs_far;
        Share { kept: self.obs.kept - kept, needed: self.obs.needed - needed }
    }

    /// The user's rules in view word for word or by all the names in them.
    pub(crate) fn rules_named(&self) -> Share {
        Share { kept: self.rules_named, needed: self.rules.needed }
    }

    /// Old texts of edits and pieces that were not in the view.
    pub fn missed(&self) -> u64 {
        [self.edits, self.pieces].iter().map(|share| share.needed - share.kept).sum()
    }

    /// Counts a reference.
    pub(crate) fn count(&mut self, need: &ReferenceNeed, presence: Presence) {
        let step = DISTANCES.partition_point(|step| *step < need.distance);
        self.by_distance[step].count(presence.kept);
        self.rescued += u64::from(presence.rescued);
        if need.obs {
            self.obs.count(presence.kept);
            if need.distance > FAR {
                self.obs_far.count(presence.kept);
            }
        }
    }

    /// Adds what other calls needed.
    pub fn add(&mut self, other: &Self) {
        for (share, more) in self.by_distance.iter_mut().zip(other.by_distance) {
            *share += more;
        }
        self.obs += other.obs;
        self.obs_far += other.obs_far;
        self.rescued += other.rescued;
        self.edits += other.edits;
        self.pieces += other.pieces;
        self.pieces_far += other.pieces_far;
        self.rules += other.rules;
        self.rules_named += other.rules_named;
        self.rereads += other.rereads;
        self.reread_tokens += other.reread_tokens;
    }
}

/// All of them together.
pub(crate) fn sum(shares: &[Share]) -> Share {
    let mut sum = Share::default();
    shares.iter().for_each(|share| sum += *share);
    sum
}

/// By step of distance, those that something was needed at: `1`, `2`, `3`, `5`, `10`, `20`, `50`, `beyond`.
pub(crate) fn steps<S: Serializer>(retention: &Retention, out: S) -> Result<S::Ok, S::Error> {
    let names = DISTANCES.iter().map(usize::to_string).chain(["beyond".to_owned()]);
    out.collect_map(names.zip(retention.by_distance).filter(|(_, share)| share.needed > 0))
}
