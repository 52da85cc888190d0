//! What a page shows of single sessions, and which sessions those are.

use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::Score;
use foldback_replay::study::Record;
use foldback_replay::walk::Walk;
use std::cmp::Reverse;

/// A session whose saw-teeth are drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Index into the sessions of the comparison.
    pub session: usize,
    /// By preset.
    pub records: Vec<Record>,
}

/// What a page shows of single sessions. A page names those that it leaves out.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Sessions with their saw-teeth, the most telling first.
    pub drawn: Vec<Drawn>,
    /// Sessions that can be walked in the reader, the most telling first.
    pub walks: Vec<Walk>,
    /// Paths of the other sessions in which a strategy acted.
    pub not_walked: Vec<String>,
}

/// The sessions to draw: those in which something acted, the longest first, at most `most` of them.
pub fn to_draw(comparison: &Comparison, most: usize) -> Vec<usize> {
    let mut acted = acted(comparison, |score| u64::from(score.metrics.compactions > 0));
    acted.sort_by_key(|(session, _)| Reverse(comparison.corpus.sessions[*session].calls));
    let mut sessions: Vec<usize> = acted.into_iter().map(|(session, _)| session).collect();
    sessions.truncate(most);
    sessions
}

/// The sessions to walk, and the others in which a strategy acted: those first in which strategies
/// forgot most that was needed, as long as they have no more than `calls` model calls together. A
/// session that is too long is passed over, not the ones behind it.
pub fn to_walk(comparison: &Comparison, calls: usize) -> (Vec<usize>, Vec<usize>) {
    let strategy = |score: &Score| comparison.presets[score.preset].kind == Kind::Strategy;
    let mut acted = acted(comparison, |score| match strategy(score) {
        // One more than what was forgotten: it acted.
        true if score.metrics.compactions > 0 => 1 + score.rereads,
        _ => 0,
    });
    acted.sort_by_key(|(session, weight)| (Reverse(*weight), *session));
    let mut left = calls;
    let (mut walked, mut others) = (Vec::new(), Vec::new());
    for (session, _) in acted {
        let size = comparison.corpus.sessions[session].calls;
        if size <= left {
            left -= size;
            walked.push(session);
        } else {
            others.push(session);
        }
    }
    others.sort_unstable();
    (walked, others)
}

/// Sessions with the sum of a weight over presets, without those where it is zero.
fn acted(comparison: &Comparison, weight: impl Fn(&Score) -> u64) -> Vec<(usize, u64)> {
    let mut sums = vec![0; comparison.corpus.sessions.len()];
    for score in &comparison.scores {
        sums[score.session] += weight(score);
    }
    sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0).collect()
}
