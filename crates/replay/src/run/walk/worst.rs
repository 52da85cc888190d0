//! Orders the forgotten needs by importance.

use super::{Need, NeedKind, Track, Walk};
use indexmap::IndexMap;

/// A forgotten need with everything that a sentence about it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed<'a> {
    /// What was needed, by which call, and where it had stood.
    pub need: &'a Need,
    /// Number of the first call since which no view has had it.
    pub left_view_at: usize,
    /// The firing that took it out of the view; `None` where it never stood in one.
    pub by: Option<&'a str>,
    /// Further needs of the session that the same lost result would have met.
    pub more: usize,
}

/// The worst forgotten needs of a session under a preset, at most `top`.
///
/// Edits come before pieces that are repeated word for word: an edit whose old text is gone fails. Then come those whose source is
/// dearest to read again. One lost result is told once, by its worst need; the same text without a known source as well. Names are
/// left out: a note that keeps a name may have lost what stood beside it.
pub fn worst<'a>(walk: &'a Walk, track: &'a Track, top: usize) -> Vec<Missed<'a>> {
    let mut missed: Vec<(&Need, usize)> = track
        .forgotten
        .iter()
        .filter_map(|forgotten| Some((walk.needs.get(forgotten.need)?, forgotten.left_view_at)))
        .filter(|(need, _)| !matches!(need.kind, NeedKind::Reference(_)))
        .collect();
    missed.sort_by(|(a, _), (b, _)| rank(a).cmp(&rank(b)));
    let mut out: IndexMap<Source<'_>, Missed<'a>> = IndexMap::new();
    for (need, left_view_at) in missed {
        let first = || Missed { need, left_view_at, by: track.taken_by(left_view_at), more: 0 };
        let known = out.entry(Source::from_need(need)).and_modify(|known| known.more += 1);
        known.or_insert_with(first);
    }
    out.into_values().take(top).collect()
}

impl Track {
    /// The stage that fired last before a call.
    pub(crate) fn taken_by(&self, call: usize) -> Option<&str> {
        let fired = self.firings.iter().rev().find(|firing| firing.call == call);
        fired.map(|firing| firing.stage.as_str())
    }
}

/// What one loss is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source<'a> {
    Result(usize),
    Unknown(&'a str),
}

impl<'a> Source<'a> {
    fn from_need(need: &'a Need) -> Self {
        match need.source {
            Some(source) => Self::Result(source.message),
            None => Self::Unknown(&need.text),
        }
    }
}

impl Missed<'_> {
    /// The order of [`worst`], for needs of several sessions: smaller is worse.
    pub fn severity(&self) -> impl Ord + use<'_> {
        rank(self.need)
    }
}

/// Smaller is worse.
fn rank(need: &Need) -> impl Ord + use<'_> {
    let tokens = need.source.map_or(0, |source| source.tokens);
    (
        need.kind != NeedKind::Edit,
        std::cmp::Reverse(tokens),
        std::cmp::Reverse(need.distance),
        need.call,
        need.text.as_str(),
    )
}
