//! The configuration that meets a budget best, and what it forgot.

use super::{Trial, Tuned};
use crate::compare::{Comparison, Point};
use crate::read::corpus::Corpus;
use crate::run::setup::{Preset, Setup};
use crate::run::walk::{Detail, Walk};
use serde::Serialize;
use std::cmp::Ordering;
use std::fmt;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// At most this bill with what was missed read again, to that of the base.
    Cost(f64),
    /// At least this share of the references that only observations held.
    Keep(f64),
}

impl Budget {
    /// Reads `cost=0.7`, `keep=0.95`, or the same in percent: `cost=70%`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a budget: write `cost=0.7` (a net bill of at most 70 % of what was paid) or \
                 `keep=0.95` (at least 95 % of what later calls refer to stays in the view)"
            )
        };
        let (what, amount) = text.split_once('=').ok_or_else(wrong)?;
        let share = match amount.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
            None => amount.trim().parse(),
        };
        let share = share.ok().filter(|share| share.is_finite() && *share > 0.0);
        match (what.trim(), share) {
            ("cost", Some(share)) => Ok(Self::Cost(share)),
            ("keep", Some(share)) if share <= 1.0 => Ok(Self::Keep(share)),
            _ => Err(wrong()),
        }
    }

    /// Whether a bill or a retention, whichever it is about, meets it.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Cost(most) => value <= most,
            Self::Keep(least) => value >= least,
        }
    }

    /// Whether a configuration meets it.
    fn met(self, point: Point) -> bool {
        match self {
            Self::Cost(_) => self.holds(point.cost),
            Self::Keep(_) => self.holds(point.kept),
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cost(most) => write!(f, "cost={most}"),
            Self::Keep(least) => write!(f, "keep={least}"),
        }
    }
}

/// What a budget gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The trial that meets it and is best on the other axis.
    Meets(usize),
    /// No trial meets the budget; this one comes nearest.
    Nearest(usize),
    /// There is nothing to choose from: no trial passes the gates, or nothing was needed.
    Nothing,
}

impl Tuned {
    /// Indices of the trials that pass the gates.
    pub fn passing(&self) -> impl Iterator<Item = usize> {
        (0..self.trials.len()).filter(|at| self.trials[*at].tune.gate.passed)
    }

    /// Those of them that have a place between cost and retention.
    fn placed(&self) -> impl Iterator<Item = (usize, Point)> {
        self.passing().filter_map(|at| Some((at, self.trials[at].tune.point()?)))
    }

    /// Indices of the trials that pass the gates and meet a budget, on the part of the sessions that is for
    /// choosing: those first that are best on the other axis. Of what is alike on both, the one that comes first.
    pub fn meeting(&self, budget: Budget) -> Vec<usize> {
        let mut meeting: Vec<_> = self.placed().filter(|(_, point)| budget.met(*point)).collect();
        meeting.sort_by(|(_, a), (_, b)| match budget {
            Budget::Cost(_) => by_kept(a, b),
            Budget::Keep(_) => by_cost(a, b),
        });
        meeting.into_iter().map(|(at, _)| at).collect()
    }

    /// The trial that comes nearest to passing the gates.
    pub fn nearest_to_gates(&self) -> Option<&Trial> {
        self.trials.iter().min_by_key(|trial| {
            let gate = &trial.tune.gate;
            (gate.over, gate.strategy_violations)
        })
    }
}

fn by_kept(a: &Point, b: &Point) -> Ordering {
    b.kept.total_cmp(&a.kept).then(a.cost.total_cmp(&b.cost))
}

fn by_cost(a: &Point, b: &Point) -> Ordering {
    a.cost.total_cmp(&b.cost).then(b.kept.total_cmp(&a.kept))
}

/// Chooses among the trials that pass the gates.
pub fn choose(tuned: &Tuned, budget: Budget) -> Choice {
    let nearest = tuned.placed().min_by(|(_, a), (_, b)| match budget {
        Budget::Cost(_) => by_cost(a, b),
        Budget::Keep(_) => by_kept(a, b),
    });
    match (tuned.meeting(budget).first(), nearest) {
        (Some(at), _) => Choice::Meets(*at),
        (None, Some((at, _))) => Choice::Nearest(at),
        (None, None) => Choice::Nothing,
    }
}

/// Walks through the sessions in which a preset forgot most, at most `count`, worst first. `at` is its index in
/// the comparison.
///
/// Sessions are read again; one that can't be, because its file is gone or has changed, is left out.
pub fn walks(
    corpus: &Corpus,
    setup: &Setup,
    comparison: &Comparison,
    (at, preset): (usize, &Preset),
    count: usize,
) -> Vec<Walk> {
    let mut missed: Vec<(u64, &str, usize)> = comparison
        .scores
        .iter()
        .filter_map(|scores| scores.get(at))
        .filter_map(|score| {
            let (references, edits) = (score.retention.frr(), score.retention.edits);
            let missed = references.needed - references.kept + edits.needed - edits.kept;
            let line = comparison.corpus.sessions.get(score.session())?;
            (missed > 0).then_some((missed, &*line.path, score.session()))
        })
        .collect();
    missed.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let walk = |(_, path, session): (u64, &str, usize)| {
        let session = comparison.session(corpus, session)?;
        Some(setup.walk(path, &session, &[preset], Detail::default()))
    };
    missed.into_iter().take(count).filter_map(walk).collect()
}
