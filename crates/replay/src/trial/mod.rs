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
pub use join::{OutcomeTable, TrialInput, TrialOutcome};
pub use plan::{Plan, PlannedSize};

use crate::compare::{ALPHA, Difference, Metric, SampleSize};
use crate::stats::{self, Estimate, Sample, assigned};
use foldback_live::trial::record::{StopLine, Trial, UnitSums};
use join::Joined;
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
    /// Its name in the file.
    pub unit: String,
    /// As the table of outcomes calls it.
    pub name: Option<String>,
    /// Its arm.
    pub arm: String,
    /// The model of its first request.
    pub model: String,
    /// Conversations, subagents' among them.
    pub conversations: usize,
    /// From its first request to its last answer.
    pub seconds: f64,
    /// Why the model stopped the last time.
    pub stop: String,
    /// What adds up.
    #[serde(flatten)]
    pub sums: foldback_live::trial::record::TrialSums,
    /// What its messages show.
    #[serde(flatten)]
    pub setbacks: foldback_live::trial::tally::Setbacks,
    /// What it came to.
    pub outcome: Option<TrialOutcome>,
}

/// An arm.
#[derive(Clone, Debug, Serialize)]
pub struct ArmResult {
    /// What it is.
    #[serde(flatten)]
    pub arm: TrialArm,
    /// Its units.
    pub units: usize,
    /// Dollars a unit.
    pub usd: Metric,
    /// Dollars of all units with an outcome, to those that were solved.
    pub usd_per_solved: Metric,
    /// Share solved.
    pub solved: Metric,
    /// Mean score.
    pub score: Metric,
    /// Answers a unit.
    pub calls: Metric,
    /// Repeated lookups a unit.
    pub repeats: Metric,
    /// Edits a unit that a tool refused.
    pub refused_edits: Metric,
    /// Messages of the user a unit after the model had ended its turn.
    pub user_again: Metric,
    /// Seconds a unit: by the table of outcomes, else from the first request to the last answer.
    pub seconds: Metric,
    /// Requests that were refused.
    pub refusals: u64,
    /// Requests that got no answer.
    pub failures: u64,
    /// Answers whose price is not known.
    pub unpriced: u64,
}

/// An arm against the first one.
#[derive(Clone, Debug, Serialize)]
pub struct ArmDifference {
    /// The arm.
    pub arm: String,
    /// The first one.
    pub against: String,
    /// Ratio of dollars a unit.
    pub usd: Difference,
    /// Ratio of dollars a solved unit.
    pub usd_per_solved: Difference,
    /// Difference of the shares solved.
    pub solved: Difference,
    /// Ratio of answers a unit.
    pub calls: Difference,
    /// Difference of repeated lookups a unit.
    pub repeats: Difference,
    /// How many units of both arms would show a difference of dollars.
    pub needed: Option<SampleSize>,
}

impl ArmDifference {
    /// Whether the arm likely solves fewer.
    pub fn solves_less(&self) -> bool {
        self.solved.value.is_some_and(|value| value < 0.0) && self.solved.is_likely()
    }

    /// Whether it likely costs less for what it solves, or a unit where nothing is known of outcomes.
    pub fn saves(&self) -> bool {
        let (usd, solved) = (&self.usd, &self.usd_per_solved);
        usd.saves() && (solved.value.is_none_or(|ratio| ratio < 1.0))
    }
}

/// What a figure adds to a total, and to what the total is divided by.
type Figure = fn(&TrialUnit) -> Option<[f64; 2]>;

fn each(value: f64) -> Option<[f64; 2]> {
    Some([value, 1.0])
}

fn usd(unit: &TrialUnit) -> Option<[f64; 2]> {
    (unit.sums.unpriced == 0).then(|| each(unit.sums.usd)).flatten()
}

fn solved(unit: &TrialUnit) -> Option<[f64; 2]> {
    unit.outcome.as_ref()?.solved.and_then(each)
}

fn usd_per_solved(unit: &TrialUnit) -> Option<[f64; 2]> {
    let ([usd, _], [solved, _]) = (usd(unit)?, solved(unit)?);
    Some([usd, solved])
}

fn calls(unit: &TrialUnit) -> Option<[f64; 2]> {
    each(unit.sums.calls as f64)
}

fn repeats(unit: &TrialUnit) -> Option<[f64; 2]> {
    each(unit.setbacks.repeats as f64)
}

impl TrialResult {
    /// What came of the trial whose files these are, with their paths, and of the outcomes of a table (CSV).
    ///
    /// # Errors
    ///
    /// A file is wrong or of another trial, or the table of outcomes is: with path and line.
    pub fn new(files: &[(String, String)], outcomes: Option<(&str, &str)>) -> Result<Self, String> {
        let Joined { trial, files, units, outcomes } = join::joined(files, outcomes)?;
        let Trial { head, stops, .. } = trial;
        let arms = head.arms.iter().map(|arm| ArmResult::new(arm, &units)).collect();
        let mut out = Self {
            version: env!("CARGO_PKG_VERSION"),
            sentence: String::new(),
            cautions: Vec::new(),
            seed: head.seed,
            files,
            outcomes,
            arms,
            contrasts: Vec::new(),
            stopped: stops,
            units,
        };
        out.compare();
        out.cautions = out.doubts();
        out.sentence = out.answer();
        Ok(out)
    }

    fn compare(&mut self) {
        let [first, others @ ..] = &*self.arms else { return };
        let against = &first.arm.name;
        let models = self.units.iter().map(|unit| unit.model.as_str());
        let mut blocks: BTreeMap<&str, usize> = models.map(|model| (model, 0)).collect();
        blocks.values_mut().enumerate().for_each(|(number, block)| *block = number);
        let estimate = |arm: &str, figure: Figure, ratio: bool| -> Estimate {
            let both = self.units.iter().filter(|unit| unit.arm == arm || unit.arm == *against);
            let rows = both
                .filter_map(|unit| Some((blocks[&*unit.model], unit.arm == arm, figure(unit)?)));
            let rows: Vec<(usize, bool, [f64; 2])> = rows.collect();
            let few = [true, false]
                .into_iter()
                .any(|of| rows.iter().filter(|row| row.1 == of).count() < LEAST);
            let sample = Sample::of_acting(self.seed, vec![true; rows.len()], few);
            let sums = rows.iter().enumerate().map(|(unit, (_, first, [above, below]))| {
                let sums =
                    if *first { [*above, *below, 0.0, 0.0] } else { [0.0, 0.0, *above, *below] };
                (unit, sums)
            });
            let estimate = match ratio {
                true => {
                    sample.of_sums(sums, |s| Some((s[0] / s[1] / (s[2] / s[3])).ln())).map(f64::exp)
                }
                false => sample.of_sums(sums, |s| Some(s[0] / s[1] - s[2] / s[3])),
            };
            let p = estimate.se.and_then(|_| assigned(&rows, self.seed));
            Estimate { p, ..estimate }
        };
        let choices = others.len();
        let contrast = |arm: &ArmResult| {
            let name = &arm.arm.name;
            let bills = estimate(name, usd, true);
            let difference = |figure, ratio| Difference::new(estimate(name, figure, ratio));
            ArmDifference {
                arm: name.clone(),
                against: against.clone(),
                needed: SampleSize::by_spread(&bills, choices),
                usd: Difference::new(bills),
                usd_per_solved: difference(usd_per_solved, true),
                solved: difference(solved, false),
                calls: difference(calls, true),
                repeats: difference(repeats, false),
            }
        };
        let mut contrasts: Vec<ArmDifference> = others.iter().map(contrast).collect();
        let families: [fn(&mut ArmDifference) -> &mut Difference; 5] = [
            |it| &mut it.usd,
            |it| &mut it.usd_per_solved,
            |it| &mut it.solved,
            |it| &mut it.calls,
            |it| &mut it.repeats,
        ];
        for family in families {
            let p: Vec<f64> =
                contrasts.iter_mut().map(|it| family(it).p.unwrap_or(f64::NAN)).collect();
            for (contrast, adjusted) in contrasts.iter_mut().zip(stats::holm(&p)) {
                let difference = family(contrast);
                difference.p_holm = difference.p.map(|_| adjusted);
                difference.tie = difference.p_holm.is_none_or(|p| p > ALPHA);
            }
        }
        self.contrasts = contrasts;
    }
}

impl ArmResult {
    fn new(arm: &TrialArm, units: &[TrialUnit]) -> Self {
        let units: Vec<&TrialUnit> = units.iter().filter(|unit| unit.arm == arm.name).collect();
        let sample = Sample::of_acting(0, vec![true; units.len()], units.len() < LEAST);
        let metric = |figure: Figure, most: f64| {
            let rows = units.iter().filter_map(|unit| figure(unit)).enumerate();
            let estimate = sample.of_sums(rows, |sums| (sums[1] > 0.0).then(|| sums[0] / sums[1]));
            Metric::new(estimate.within(0.0, most), "no unit says")
        };
        let sum = |count: fn(&TrialUnit) -> u64| units.iter().map(|unit| count(unit)).sum();
        let any = f64::INFINITY;
        Self {
            arm: arm.clone(),
            units: units.len(),
            usd: metric(usd, any),
            usd_per_solved: metric(usd_per_solved, any),
            solved: metric(solved, 1.0),
            score: metric(|unit| unit.outcome.as_ref()?.score.and_then(each), any),
            calls: metric(calls, any),
            repeats: metric(repeats, any),
            refused_edits: metric(|unit| each(unit.setbacks.refused_edits as f64), any),
            user_again: metric(|unit| each(unit.setbacks.user_again as f64), any),
            seconds: metric(|unit| each(unit.seconds), any),
            refusals: sum(|unit| unit.sums.refusals),
            failures: sum(|unit| unit.sums.failures),
            unpriced: sum(|unit| unit.sums.unpriced),
        }
    }
}

impl TrialUnit {
    fn new(unit: UnitSums) -> Self {
        Self {
            name: None,
            arm: unit.arm,
            model: unit.model,
            conversations: unit.conversations.len(),
            seconds: (unit.last_ms - unit.first_ms) as f64 / 1e3,
            stop: unit.stop,
            sums: unit.sums,
            setbacks: unit.setbacks,
            outcome: None,
            unit: unit.unit,
        }
    }
}

#[cfg(test)]
mod tests;
