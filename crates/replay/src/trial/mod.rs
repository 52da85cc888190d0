//! Trials of live agents: what each arm cost and came to, by the files that `foldback serve --trial` wrote and a table of outcomes.
//!
//! - A *unit* was assigned as a whole, so it is what is counted. Its dollars are those of all its conversations.
//! - Differences are to the first arm. Their test assigns the units of each block anew; a block is a model. Their intervals leave out
//!   one unit at a time ([`Sample`]); of ratios, they are of the logarithm.
//! - Every figure is a family of its own: Holm's adjustment is over the arms.

mod join;
mod plan;
mod sentence;

pub use foldback_live::trial::record::TrialArm;
pub use join::{OutcomeTable, TrialInput};
pub use plan::{Plan, PlannedSize};

use crate::compare::{Difference, Metric, SampleSize, holm};
use crate::stats::{self, Estimate, Sample, assigned};
use foldback_live::trial::record::{StopLine, Trial, UnitLine};
use serde::Serialize;
use std::collections::BTreeMap;

/// The least units of an arm for intervals and tests.
const LEAST: usize = 3;

/// What came of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialResult {
    /// Version of the program.
    pub version: &'static str,
    /// The answer.
    pub sentence: String,
    /// Reasons to doubt it, one sentence each.
    pub cautions: Vec<String>,
    /// The seed of the assignment.
    pub seed: u64,
    /// The files.
    pub files: Vec<TrialInput>,
    /// How outcomes were joined; `null` without any.
    pub outcomes: Option<OutcomeTable>,
    /// The arms, in the order in which they were given to the proxy.
    pub arms: Vec<ArmResult>,
    /// Every other arm against the first.
    pub contrasts: Vec<ArmDifference>,
    /// Arms that the guard stopped.
    pub stopped: Vec<StopLine>,
    /// The units, those first that began first.
    pub units: Vec<TrialUnit>,
}

/// A unit.
#[derive(Clone, Debug, Serialize)]
pub struct TrialUnit {
    /// What its conversations add up to.
    #[serde(flatten)]
    pub line: UnitLine,
    /// As the table of outcomes calls it; `null` where it has no outcome.
    pub name: Option<String>,
    /// Conversations, subagents' among them.
    pub conversations: usize,
    /// From its first request to its last answer, or by the table of outcomes.
    pub seconds: f64,
    /// 1 if it was solved, 0 if not.
    pub solved: Option<f64>,
    /// Any number.
    pub score: Option<f64>,
}

impl TrialUnit {
    /// Its dollars, if the prices of all its answers are known.
    pub fn usd(&self) -> Option<f64> {
        (self.line.sums.unpriced == 0).then_some(self.line.sums.usd)
    }
}

/// How arms are compared by a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Ratio,
    Difference,
    Nothing,
}

/// What a unit adds to a figure: to a sum, and to what that is divided by.
type Sums = fn(&TrialUnit) -> Option<[f64; 2]>;

/// The figures of an arm, by their names in documents.
const FIGURES: [(&str, By, Sums); 10] = [
    ("usd", By::Ratio, |unit| Some([unit.usd()?, 1.0])),
    ("usd_per_solved", By::Ratio, |unit| Some([unit.usd()?, unit.solved?])),
    ("solved", By::Difference, |unit| Some([unit.solved?, 1.0])),
    ("score", By::Nothing, |unit| Some([unit.score?, 1.0])),
    ("calls", By::Ratio, |unit| Some([unit.line.sums.calls as f64, 1.0])),
    ("repeats", By::Difference, |unit| Some([unit.line.sums.repeats as f64, 1.0])),
    ("refused_edits", By::Nothing, |unit| Some([unit.line.sums.refused_edits as f64, 1.0])),
    ("seconds", By::Nothing, |unit| Some([unit.seconds, 1.0])),
    ("refusals", By::Nothing, |unit| Some([unit.line.sums.refusals as f64, 1.0])),
    ("failures", By::Nothing, |unit| Some([unit.line.sums.failures as f64, 1.0])),
];

/// An arm.
#[derive(Clone, Debug, Serialize)]
pub struct ArmResult {
    /// What it is.
    #[serde(flatten)]
    pub arm: TrialArm,
    /// Its units.
    pub units: usize,
    /// By name, means over units: `usd`, `calls`, `repeats`, `refused_edits`, `seconds`, `refusals`, `failures`, `score`, the
    /// share `solved`, and `usd_per_solved`, the dollars of all units with an outcome to those that were solved.
    #[serde(flatten)]
    pub figures: BTreeMap<&'static str, Metric>,
}

/// An arm against the first one.
#[derive(Clone, Debug, Serialize)]
pub struct ArmDifference {
    /// The arm.
    pub arm: String,
    /// The first one.
    pub against: String,
    /// The ratios of both by `usd`, `usd_per_solved` and `calls`, their differences by `solved` and `repeats`.
    #[serde(flatten)]
    pub figures: BTreeMap<&'static str, Difference>,
    /// How many units of both arms would show a difference of dollars.
    pub needed: Option<SampleSize>,
}

impl TrialResult {
    /// What came of the trial whose files these are, with their paths, and of the outcomes of a table (CSV).
    ///
    /// # Errors
    ///
    /// A file is wrong or of another trial, or the table of outcomes is: with path and line.
    pub fn new(files: &[(String, String)], outcomes: Option<(&str, &str)>) -> Result<Self, String> {
        let (trial, files) = join::merged(files)?;
        let (units, outcomes) = join::units(&trial, outcomes)?;
        let Trial { head, stops, .. } = trial;
        let mut out = Self {
            version: env!("CARGO_PKG_VERSION"),
            sentence: String::new(),
            cautions: Vec::new(),
            seed: head.seed,
            files,
            outcomes,
            arms: head.arms.iter().map(|arm| ArmResult::new(arm, &units)).collect(),
            contrasts: contrasts(&head.arms, &units, head.seed),
            stopped: stops,
            units,
        };
        out.cautions = out.doubts();
        out.sentence = out.answer();
        Ok(out)
    }
}

/// Every other arm against the first.
fn contrasts(arms: &[TrialArm], units: &[TrialUnit], seed: u64) -> Vec<ArmDifference> {
    let [first, others @ ..] = arms else { return Vec::new() };
    let models: Vec<&str> = units.iter().map(|unit| &*unit.line.model).collect();
    let (blocks, _) = stats::clusters(&models);
    let contrast = |arm: &TrialArm| {
        let estimate = |by: By, sums: Sums| {
            let rows = units.iter().zip(&blocks).filter_map(|(unit, block)| {
                let is_of = |arm: &TrialArm| unit.line.arm == arm.name;
                (is_of(arm) || is_of(first)).then_some((*block, is_of(arm), sums(unit)?))
            });
            difference(&rows.collect::<Vec<_>>(), by, seed)
        };
        let compared = FIGURES.into_iter().filter(|(_, by, _)| *by != By::Nothing);
        let figures = compared.map(|(name, by, sums)| (name, Difference::new(estimate(by, sums))));
        ArmDifference {
            arm: arm.name.clone(),
            against: first.name.clone(),
            figures: figures.collect(),
            needed: SampleSize::by_spread(&estimate(By::Ratio, FIGURES[0].2), others.len()),
        }
    };
    let mut contrasts: Vec<ArmDifference> = others.iter().map(contrast).collect();
    for (name, ..) in FIGURES {
        let family = contrasts.iter_mut().filter_map(|it| it.figures.get_mut(name));
        holm(&mut family.collect::<Vec<_>>());
    }
    contrasts
}

/// By how much a figure of an arm differs from that of the first one. Of each unit: its block, whether it is of the arm, and its sums.
fn difference(units: &[(usize, bool, [f64; 2])], by: By, seed: u64) -> Estimate {
    let few = [true, false].map(|arm| units.iter().filter(|unit| unit.1 == arm).count() < LEAST);
    let sample = Sample::of_acting(seed, vec![true; units.len()], few.contains(&true));
    let sums = units.iter().enumerate().map(|(at, (_, is_arm, [above, below]))| match is_arm {
        true => (at, [*above, *below, 0.0, 0.0]),
        false => (at, [0.0, 0.0, *above, *below]),
    });
    let estimate = match by {
        By::Ratio => {
            sample.of_sums(sums, |s| Some((s[0] / s[1] / (s[2] / s[3])).ln())).map(f64::exp)
        }
        _ => sample.of_sums(sums, |s| Some(s[0] / s[1] - s[2] / s[3])),
    };
    Estimate { p: estimate.se.and_then(|_| assigned(units, seed)), ..estimate }
}

impl ArmResult {
    fn new(arm: &TrialArm, units: &[TrialUnit]) -> Self {
        let units = || units.iter().filter(|unit| unit.line.arm == arm.name);
        let count = units().count();
        let sample = Sample::of_acting(0, vec![true; count], count < LEAST);
        let metric = |(name, _, sums): (_, _, Sums)| {
            let rows = units().filter_map(sums).enumerate();
            let estimate = sample.of_sums(rows, |sums| (sums[1] > 0.0).then(|| sums[0] / sums[1]));
            let most = if name == "solved" { 1.0 } else { f64::INFINITY };
            (name, Metric::new(estimate.within(0.0, most), "no unit says"))
        };
        Self { arm: arm.clone(), units: count, figures: FIGURES.map(metric).into() }
    }
}

#[cfg(test)]
mod tests;
