//! What a trial says, in one sentence, and the reasons to doubt it.

use super::{ArmDifference, ArmResult, TrialResult};
use crate::compare::{Difference, SampleSize};
use crate::number::{change, count, count_of, money, percent, points};
use std::collections::BTreeSet;

/// The share of units with an unknown price above which dollars are doubted.
const UNPRICED: f64 = 0.05;

impl TrialResult {
    /// The answer.
    pub(super) fn answer(&self) -> String {
        let [first, ..] = &*self.arms else { return String::new() };
        if self.contrasts.iter().all(|it| it.figures["usd"].p.is_none()) {
            return "Nothing can be said yet: two arms with three units each, whose prices are known, are the least.".to_owned();
        }
        let is_stopped =
            |it: &ArmDifference| self.stopped.iter().any(|stop| stop.stopped == it.arm);
        let solves_less = |it: &ArmDifference| {
            let solved = &it.figures["solved"];
            solved.value.is_some_and(|value| value < 0.0) && solved.is_likely()
        };
        // Of a solved unit, or of any where no outcome is known.
        let cost = |it: &ArmDifference| {
            let [solved, any] = ["usd_per_solved", "usd"].map(|name| it.figures[name].value);
            solved.or(any).unwrap_or(f64::INFINITY)
        };
        let is_better = |it: &ArmDifference| {
            it.figures["usd"].saves() && cost(it) < 1.0 && !solves_less(it) && !is_stopped(it)
        };
        let best = self.contrasts.iter().zip(&self.arms[1..]).filter(|(it, _)| is_better(it));
        if let Some((it, arm)) = best.min_by(|(a, _), (b, _)| cost(a).total_cmp(&cost(b))) {
            let unknown = match self.outcomes {
                Some(_) => "",
                None => " Without outcomes it is not known whether it solves as much.",
            };
            return format!("Use {}: {}.{unknown}", it.arm, told(arm, first, it));
        }
        let name = &first.arm.name;
        let is_open = |it: &&ArmDifference| {
            !it.figures["usd"].costs_more() && !solves_less(it) && !is_stopped(it)
        };
        let needed = self.contrasts.iter().filter(is_open).map(|it| it.needed);
        let needed: Vec<Option<SampleSize>> = needed.collect();
        match needed.is_empty() {
            true => format!(
                "Stay with {name}: every other arm likely costs more, likely solves less, or was stopped."
            ),
            false => format!("No arm can be recommended over {name} yet. {}", self.more(&needed)),
        }
    }

    /// How many more units would tell. All arms grow alike.
    fn more(&self, needed: &[Option<SampleSize>]) -> String {
        let units = self.units.len();
        let more = |of: fn(SampleSize) -> usize| {
            let needed =
                needed.iter().flatten().map(|it| (of(*it) * units).div_ceil(it.here.max(1)));
            Some(needed.max()?.saturating_sub(units))
        };
        match (more(|it| it.ten_percent), more(|it| it.five_percent)) {
            (_, Some(0)) => "A difference of 5 % would likely have shown.".to_owned(),
            (Some(0), Some(five)) => format!(
                "A difference of 10 % would likely have shown; for one of 5 % it takes about {five} more units."
            ),
            (Some(ten), Some(five)) => {
                format!("It takes about {ten} more units to tell 10 % apart, and {five} for 5 %.")
            }
            _ => String::new(),
        }
    }

    /// Reasons to doubt it.
    pub(super) fn doubts(&self) -> Vec<String> {
        let stopped = self.stopped.iter().map(|stop| {
            let (arm, units) = (&stop.stopped, count(stop.units as u64, "unit"));
            format!("The guard stopped {arm} after {units}: {}.", stop.measure.harm())
        });
        let few = self.contrasts.iter().filter(|it| it.figures["usd"].p.is_none());
        let few = few.map(|it| {
            format!("Nothing is known of {} yet: three units of each arm are the least.", it.arm)
        });
        let mut out: Vec<String> = stopped.chain(few).collect();
        let lines = || self.units.iter().map(|unit| &unit.line);
        let unpriced = || lines().filter(|line| line.sums.unpriced > 0);
        if unpriced().count() as f64 > UNPRICED * self.units.len() as f64 {
            let models: BTreeSet<&str> = unpriced().map(|line| &*line.model).collect();
            out.push(format!(
                "{} left out of dollars: no price is known for a model of theirs ({}). `--models FILE` of the proxy names prices.",
                count_of(unpriced().count() as u64, "unit is", "units are"),
                models.into_iter().collect::<Vec<_>>().join(", ")
            ));
        }
        let missing = |arm: &ArmResult| {
            let of_arm = self.units.iter().filter(|unit| unit.line.arm == arm.arm.name);
            of_arm.filter(|unit| unit.name.is_none()).count()
        };
        let by_arm: Vec<String> = (self.arms.iter().map(|arm| (missing(arm), &arm.arm.name)))
            .filter(|(missing, _)| *missing > 0)
            .map(|(missing, name)| format!("{missing} of {name}"))
            .collect();
        if self.outcomes.is_some() && !by_arm.is_empty() {
            out.push(format!(
                "Units without an outcome: {}. If runs that failed are missing, the shares solved are too high.",
                by_arm.join(", ")
            ));
        }
        out
    }
}

/// What a unit costs, and what was solved.
fn told(arm: &ArmResult, first: &ArmResult, it: &ArmDifference) -> String {
    let both = |figure, form: fn(f64) -> String| {
        let value = |arm: &ArmResult| arm.figures[figure].value.map_or_else(String::new, form);
        format!("{} instead of {}", value(arm), value(first))
    };
    let likely = |difference: &Difference, form: fn(f64) -> String| {
        let range = difference.lo.zip(difference.hi);
        range.map_or_else(String::new, |(lo, hi)| format!("likely {} to {}", form(lo), form(hi)))
    };
    let (usd, solved) = (&it.figures["usd"], &it.figures["solved"]);
    let mut out = format!(
        "a unit costs {} with {} ({}; {})",
        both("usd", money),
        it.against,
        usd.value.map_or_else(String::new, change),
        likely(usd, change)
    );
    if solved.value.is_some() {
        out += &format!(
            ", and {} of units were solved ({} points): {} a solved unit",
            both("solved", percent),
            likely(solved, points),
            both("usd_per_solved", money)
        );
    }
    out
}
