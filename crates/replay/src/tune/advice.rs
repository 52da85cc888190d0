//! The configuration that meets a budget at the best price in the other coin, and what it forgot.

use super::Tuned;
use crate::availability::Index;
use crate::compare::Comparison;
use crate::corpus::Corpus;
use crate::setup::Setup;
use crate::walk::{Detail, Walk};
use foldback_core::strategy::Strategy;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// At most this bill, to that of no compaction.
    Cost(f64),
    /// At least this share of the references that only observations held.
    Keep(f64),
}

impl Budget {
    /// Reads `cost=0.7`, `keep=0.95`, or the same in percent: `cost=70%`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no budget: write `cost=0.7` (a bill of at most 70 % of that without compaction) or \
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

    /// Whether a cost and a retention meet it.
    pub fn met(self, cost: f64, kept: f64) -> bool {
        match self {
            Self::Cost(most) => cost <= most,
            Self::Keep(least) => kept >= least,
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
    /// None does; this one comes nearest.
    Nearest(usize),
    /// There is nothing to choose from: no trial passes the gates, or nothing was needed.
    Nothing,
}

/// Chooses among the trials that pass the gates, on the part of the sessions that is for choosing. Of trials
/// that are alike on both axes, the one that comes first.
pub fn choose(tuned: &Tuned, budget: Budget) -> Choice {
    let places: Vec<(usize, f64, f64)> = tuned
        .trials
        .iter()
        .enumerate()
        .filter(|(_, trial)| trial.tune.gate.passed)
        .filter_map(|(at, trial)| {
            let point = trial.tune.point()?;
            Some((at, point.cost, point.kept))
        })
        .collect();
    let meets =
        places.iter().filter(|(_, cost, kept)| budget.met(*cost, *kept)).min_by(
            |a, b| match budget {
                Budget::Cost(_) => b.2.total_cmp(&a.2).then(a.1.total_cmp(&b.1)),
                Budget::Keep(_) => a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2)),
            },
        );
    let nearest = || {
        places.iter().min_by(|a, b| match budget {
            Budget::Cost(_) => a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2)),
            Budget::Keep(_) => b.2.total_cmp(&a.2).then(a.1.total_cmp(&b.1)),
        })
    };
    match (meets, nearest()) {
        (Some((at, ..)), _) => Choice::Meets(*at),
        (None, Some((at, ..))) => Choice::Nearest(*at),
        (None, None) => Choice::Nothing,
    }
}

/// Walks through the sessions in which a strategy forgot most, at most `count`, worst first. `preset` is its
/// index in the comparison.
///
/// Sessions are read again; one that can't be, because its file is gone, is left out.
pub fn walks(
    corpus: &Corpus,
    setup: &Setup,
    comparison: &Comparison,
    preset: usize,
    strategy: &Arc<Strategy>,
    count: usize,
) -> Vec<Walk> {
    let mut missed: Vec<(u64, &str)> = comparison
        .scores
        .iter()
        .filter(|score| score.preset == preset)
        .filter_map(|score| {
            let (references, edits) = (score.exam.references.frr, score.exam.edits);
            let missed = references.needed - references.kept + edits.needed - edits.kept;
            let line = comparison.corpus.sessions.get(score.session)?;
            (missed > 0).then_some((missed, line.path.as_str()))
        })
        .collect();
    missed.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let walk = |path: &str| {
        let sources = corpus.sources.iter();
        let mut near = sources.filter(|source| {
            let rest = path.strip_prefix(source.name().as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
        });
        near.find_map(|source| {
            let sessions = source.sessions().ok()?;
            let many = sessions.len() > 1;
            let session =
                sessions.iter().find(|session| source.path_of(&session.id, many) == path)?;
            let index = Arc::new(Index::of(session));
            let detail = Detail::default();
            let mut walk = Walk::of(path, session, &index, &setup.measure, detail);
            let mut options = setup.options(session, strategy);
            options.validate = false;
            walk.follow(session, &index, strategy, &options, detail);
            Some(walk)
        })
    };
    missed.into_iter().take(count).filter_map(|(_, path)| walk(path)).collect()
}
