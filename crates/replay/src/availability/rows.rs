//! What the calls of a session refer to, whether a replay kept it, and the resulting shares.

use crate::identifiers::Class;
use crate::index::{EditNeed, Index, ReferenceNeed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A reference counts as far when it was last seen more than this many calls ago.
pub const FAR: usize = 3;

/// Upper ends of the steps of the curve over distance; the last step is open.
pub const DISTANCES: [usize; 7] = [1, 2, 3, 5, 10, 20, 50];

/// A reference of a call: an identifier in the arguments of a tool call that had been in the log
/// before, and is not in the head of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Number of the call that refers, from 0.
    pub call: usize,
    /// The identifier, normalized.
    pub identifier: Arc<str>,
    /// What it refers to.
    pub class: Class,
    /// Calls since it was last in the log; 1 for what the call before brought.
    pub distance: usize,
    /// Before the call it stood only in what tools and users said, never in what the model wrote.
    pub obs: bool,
    /// Id of the log message that had it last.
    pub last_seen: String,
}

/// How a reference was in the view of the call that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// It was there.
    pub kept: bool,
    /// It did so only in what a compaction wrote (summary, placeholder), in no original any more.
    pub rescued: bool,
    /// Number of the first call since which no view has had it; `None` where it is kept.
    pub left_view_at: Option<usize>,
}

/// An edit whose old text had been in the log before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Number of the call that edits.
    pub call: usize,
    /// The first line of the old text, for reports.
    pub first_line: String,
    /// Id of the log message that had it last.
    pub last_seen: String,
}

/// The references of a session, in order of calls.
pub fn references(index: &Index) -> Vec<Reference> {
    let of = |call: usize, need: &ReferenceNeed| Reference {
        call,
        identifier: Arc::clone(&index.entries[need.id as usize].text),
        class: index.asked[need.reference as usize].class,
        distance: need.distance,
        obs: need.obs,
        last_seen: index.log[need.last_seen].id.clone(),
    };
    let calls = index.calls.iter().enumerate();
    calls
        .flat_map(|(call, needs)| needs.references.iter().map(move |need| of(call, need)))
        .collect()
}

/// The edits of a session, in order of calls.
pub fn edits(index: &Index) -> Vec<Edit> {
    let of = |call: usize, need: &EditNeed| Edit {
        call,
        first_line: index.old_text(need).lines().next().unwrap_or_default().to_owned(),
        last_seen: index
            .places(need)
            .last()
            .map_or_else(String::new, |(ordinal, _)| index.log[*ordinal].id.clone()),
    };
    let calls = index.calls.iter().enumerate();
    calls.flat_map(|(call, needs)| needs.edits.iter().map(move |need| of(call, need))).collect()
}

/// Something that would have had to be read again: a result that had left the view and that a call
/// needed something of. One row per result and eviction, however many references miss it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RereadRow {
    /// Number of the first call that misses something of it.
    pub call: usize,
    /// Id of the tool result.
    pub source: String,
    /// Number of the first call whose view did not have it any more.
    pub left_view_at: usize,
    /// Size of the original result by the measuring estimator.
    pub tokens: u64,
}

/// Kept of needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// How many were kept.
    pub kept: u64,
    /// How many were needed.
    pub needed: u64,
}

impl Share {
    /// The share, `None` where nothing was needed.
    pub fn value(self) -> Option<f64> {
        (self.needed > 0).then(|| self.kept as f64 / self.needed as f64)
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: Self) {
        self.kept += other.kept;
        self.needed += other.needed;
    }

    pub(crate) fn count(&mut self, kept: bool) {
        self.needed += 1;
        self.kept += u64::from(kept);
    }
}

/// Forward-reference retention with its strata: of the references that calls really made, how many
/// was still in the view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Retention {
    /// All references.
    pub frr: Share,
    /// Those that had only stood in what tools and users said.
    pub frr_obs: Share,
    /// Those that were last seen more than three calls ago.
    pub frr_far: Share,
    /// Those that are both: of the kind that can be lost, and not of the last calls.
    pub frr_obs_far: Share,
    /// Kept only in what a compaction wrote; counted in `frr` as kept.
    pub rescued: u64,
    /// By class: `path`, `url`, `symbol`, `error`, `hash`, `number`, `quoted`, `flag`.
    // In the order of `Class::ALL`.
    #[serde(serialize_with = "classes")]
    #[schemars(with = "BTreeMap<Class, Share>")]
    pub by_class: [Share; Class::ALL.len()],
    /// By distance in calls: up to 1, 2, 3, 5, 10, 20 and 50, each from above the one before, then
    /// everything further away, which is written as `beyond`.
    // In the order of `DISTANCES`.
    #[serde(serialize_with = "steps")]
    #[schemars(with = "BTreeMap<String, Share>")]
    pub by_distance: [Share; DISTANCES.len() + 1],
}

fn classes<S: Serializer>(shares: &[Share; Class::ALL.len()], out: S) -> Result<S::Ok, S::Error> {
    let all = Class::ALL.iter().zip(shares);
    out.collect_map(all.filter(|(_, share)| share.needed > 0))
}

fn steps<S: Serializer>(shares: &[Share; DISTANCES.len() + 1], out: S) -> Result<S::Ok, S::Error> {
    let names = DISTANCES.iter().map(usize::to_string).chain(["beyond".to_owned()]);
    out.collect_map(names.zip(shares).filter(|(_, share)| share.needed > 0))
}

/// The retention over references. All strategies that are compared are given the references of the
/// same calls: those from the first call on before which any of them fired. Before that nothing can
/// be lost, and a start of its own would let each strategy choose its exam.
pub fn score<'a>(rows: impl IntoIterator<Item = (&'a Reference, &'a Presence)>) -> Retention {
    let mut out = Retention::default();
    for (reference, Presence { kept, rescued, .. }) in rows {
        out.frr.count(*kept);
        if reference.obs {
            out.frr_obs.count(*kept);
        }
        if reference.distance > FAR {
            out.frr_far.count(*kept);
        }
        if reference.obs && reference.distance > FAR {
            out.frr_obs_far.count(*kept);
        }
        out.rescued += u64::from(*rescued);
        out.by_class[reference.class as usize].count(*kept);
        let step = DISTANCES.into_iter().position(|step| reference.distance <= step);
        out.by_distance[step.unwrap_or(DISTANCES.len())].count(*kept);
    }
    out
}

impl Retention {
    /// Adds the counts of another session.
    pub fn add(&mut self, other: &Self) {
        self.frr.add(other.frr);
        self.frr_obs.add(other.frr_obs);
        self.frr_far.add(other.frr_far);
        self.frr_obs_far.add(other.frr_obs_far);
        self.rescued += other.rescued;
        let pairs = self.by_class.iter_mut().zip(other.by_class);
        for (share, more) in pairs.chain(self.by_distance.iter_mut().zip(other.by_distance)) {
            share.add(more);
        }
    }
}
