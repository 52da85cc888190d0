//! What a page shows of single sessions, and which sessions those are.

use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::study::Score;
use foldback_replay::walk::Walk;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A session that can be walked.
#[derive(Clone, Debug)]
pub struct Walked {
    /// Index into the sessions of the comparison.
    pub session: usize,
    /// The session under the presets that changed something in it.
    pub walk: Walk,
}

/// What a page shows of single sessions. A page names those that it leaves out.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Sessions that can be walked in the reader, the most telling first.
    pub walks: Vec<Walked>,
    /// Bytes of walks that the page takes at most; all of them where not given.
    pub room: Option<usize>,
    /// Paths of the other sessions in which a strategy acted.
    pub not_walked: Vec<String>,
    /// Pages of single sessions beside this one: their addresses by session.
    pub pages: BTreeMap<usize, String>,
}

/// How many sessions are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// The sessions in which a strategy acted, up to so many model calls together.
    Calls(usize),
    /// So many, also such in which nothing acted.
    Sessions(usize),
}

/// The preset that a page opens on: that of the verdict, else the first of the table that acted.
pub(super) fn opening(comparison: &Comparison) -> Option<usize> {
    let (_, line) = comparison.telling(&comparison.answer())?;
    comparison.presets.iter().position(|other| std::ptr::eq(other, line))
}

/// The sessions to walk, and the others in which a strategy acted: those first in which the preset that the page opens
/// on forgot most that was needed, then those in which all strategies together did.
pub fn to_walk(comparison: &Comparison, most: Most) -> (Vec<usize>, Vec<usize>) {
    let strategy = |score: &Score| comparison.presets[score.preset()].kind == Kind::Strategy;
    let mut acted = acted(comparison, |score| match strategy(score) {
        // A session in which the preset acted counts one more than what was forgotten there.
        true if score.metrics.compactions > 0 => 1 + score.retention.missed(),
        _ => 0,
    });
    let opening = opening(comparison);
    let own = |session: usize| {
        let score = comparison.scores_of(session).get(opening?)?;
        let asked = score.retention.obs_far;
        (score.metrics.compactions > 0).then(|| asked.needed - asked.kept)
    };
    acted.sort_by_key(|(session, all)| (Reverse(own(*session)), Reverse(*all), *session));
    let acted: Vec<usize> = acted.into_iter().map(|(session, _)| session).collect();
    let sessions = &comparison.corpus.sessions;
    let (walked, mut others): (Vec<usize>, Vec<usize>) = match most {
        // A session that is too long is passed over, not the ones after it.
        Most::Calls(mut left) => acted.into_iter().partition(|session| {
            let calls = sessions[*session].calls;
            let fits = calls <= left;
            left -= if fits { calls } else { 0 };
            fits
        }),
        Most::Sessions(count) => {
            let known: BTreeSet<usize> = acted.iter().copied().collect();
            let idle = (0..sessions.len()).filter(|session| !known.contains(session));
            let walked = acted.iter().copied().chain(idle).take(count).collect();
            (walked, acted.into_iter().skip(count).collect())
        }
    };
    others.sort_unstable();
    (walked, others)
}

/// Sessions with the sum of a weight over presets, without those where it is zero.
fn acted(comparison: &Comparison, weight: impl Fn(&Score) -> u64) -> Vec<(usize, u64)> {
    let mut sums = vec![0; comparison.corpus.sessions.len()];
    for score in comparison.scores.iter().flatten() {
        sums[score.session()] += weight(score);
    }
    sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0).collect()
}
