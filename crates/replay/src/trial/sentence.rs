//! What a trial says, in one sentence, and the reasons to doubt it.

use super::{ArmDifference, ArmResult, TrialResult};
use crate::compare::{Difference, Metric};
use crate::number::{change, count, count_of, decimals, dollars, percent};
use std::collections::BTreeSet;

/// The share of units with an unknown price above which dollars are doubted.
const UNPRICED: f64 = 0.05;

impl TrialResult {
    /// The answer.
    pub(super) fn answer(&self) -> String {
        let [first, ..] = &*self.arms else { return String::new() };
        let name = &first.arm.name;
        let unknown = match self.outcomes {
            Some(_) => "",
            None => " Without outcomes it is not known whether it solves as much.",
        };
        if self.contrasts.iter().all(|it| it.usd.p.is_none()) {
            return "Nothing can be said yet: two arms with three units each, whose prices are known, are the least.".to_owned();
        }
        let is_choice =
            |it: &&ArmDifference| it.saves() && !it.solves_less() && !self.is_stopped(&it.arm);
        let cost =
            |it: &ArmDifference| it.usd_per_solved.value.or(it.usd.value).unwrap_or(f64::INFINITY);
        let choices = self.contrasts.iter().filter(is_choice);
        let best = choices.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        if let Some(best) = best
            && let Some(arm) = self.arms.iter().find(|arm| arm.arm.name == best.arm)
        {
            return format!("Use {}: {}.{unknown}", best.arm, self.difference(arm, first, best));
        }
        let is_worse = |it: &&ArmDifference| it.usd.costs_more() || it.solves_less();
        let (worse, open): (Vec<_>, Vec<_>) = self.contrasts.iter().partition(is_worse);
        if open.is_empty() {
            return format!("Stay with {name}: every other arm likely costs more or solves less.");
        }
        let mut out = String::new();
        for it in &self.contrasts {
            let why = match it {
                _ if it.usd.saves() && it.solves_less() => "costs less, and likely solves less",
                _ if it.usd.saves() && self.is_stopped(&it.arm) => {
                    "costs less, and the guard stopped it"
                }
                _ if it.usd.saves() => "costs less, but not for each unit that is solved",
                _ if worse.iter().any(|other| other.arm == it.arm) => {
                    "likely costs more or solves less"
                }
                _ => continue,
            };
            out += &format!("{} {why}. ", it.arm);
        }
        format!("{out}No arm can be recommended over {name} yet. {}", self.more(&open))
    }

    fn is_stopped(&self, arm: &str) -> bool {
        self.stopped.iter().any(|stop| stop.stopped == arm)
    }

    /// What a unit costs, and what was solved.
    fn difference(&self, arm: &ArmResult, first: &ArmResult, it: &ArmDifference) -> String {
        let money =
            |usd: &Metric| usd.value.map_or_else(String::new, |usd| dollars(usd, decimals(usd)));
        let likely = |difference: &Difference, form: fn(f64) -> String| {
            let range = difference.lo.zip(difference.hi);
            range
                .map_or_else(String::new, |(lo, hi)| format!("likely {} to {}", form(lo), form(hi)))
        };
        let (own, other) = (money(&arm.usd), money(&first.usd));
        let changed = it.usd.value.map_or_else(String::new, change);
        let range = likely(&it.usd, change);
        let mut out = format!(
            "a unit costs {own} instead of {other} with {} ({changed}; {range})",
            it.against
        );
        if let Some((own, other)) = arm.solved.value.zip(first.solved.value) {
            let points = |share: f64| format!("{:+.0}", share * 100.0).replace('-', "−");
            let (own, other, range) = (percent(own), percent(other), likely(&it.solved, points));
            out += &format!(", and {own} of units were solved instead of {other} ({range} points)");
            let (own, other) = (money(&arm.usd_per_solved), money(&first.usd_per_solved));
            out += &format!(": {own} a solved unit instead of {other}");
        }
        out
    }

    /// How many more units would tell.
    fn more(&self, open: &[&ArmDifference]) -> String {
        let units = self.units.len();
        let needed = open.iter().filter_map(|it| it.needed);
        let worst = needed.max_by(|a, b| (a.five_percent * b.here).cmp(&(b.five_percent * a.here)));
        let Some(size) = worst else { return String::new() };
        // All arms grow alike.
        let more =
            |needed: usize| (needed * units).div_ceil(size.here.max(1)).saturating_sub(units);
        match (more(size.five_percent), more(size.ten_percent)) {
            (0, _) => "A difference of 5 % would likely have shown.".to_owned(),
            (five, 0) => format!(
                "A difference of 10 % would likely have shown; for one of 5 % it takes about {five} more units."
            ),
            (five, ten) => {
                format!("It takes about {ten} more units to tell 10 % apart, and {five} for 5 %.")
            }
        }
    }

    /// Reasons to doubt it.
    pub(super) fn doubts(&self) -> Vec<String> {
        let mut out = Vec::new();
        for stop in &self.stopped {
            out.push(format!(
                "The guard stopped {} after {}: {}.",
                stop.stopped,
                count(stop.units as u64, "unit"),
                stop.measure.harm()
            ));
        }
        let unpriced = self.units.iter().filter(|unit| unit.sums.unpriced > 0);
        let models = unpriced.clone().map(|unit| &*unit.model).collect::<BTreeSet<_>>();
        let unpriced = unpriced.count();
        if unpriced as f64 > UNPRICED * self.units.len() as f64 {
            out.push(format!(
                "{} left out of dollars: no price is known for a model of theirs ({}). `--models FILE` of the proxy names prices.",
                count_of(unpriced as u64, "unit is", "units are"),
                models.into_iter().collect::<Vec<_>>().join(", ")
            ));
        }
        if let Some(table) = &self.outcomes
            && !table.missing.is_empty()
        {
            let missing = |arm: &str| {
                self.units.iter().filter(|unit| unit.arm == arm && unit.outcome.is_none()).count()
            };
            let by_arm = self
                .arms
                .iter()
                .map(|arm| format!("{} of {}", missing(&arm.arm.name), arm.arm.name));
            out.push(format!(
                "{} of {} units have no outcome ({}). If runs that failed are missing, the shares solved are too high.",
                self.units.iter().filter(|unit| unit.outcome.is_none()).count(),
                self.units.len(),
                by_arm.collect::<Vec<_>>().join(", ")
            ));
        }
        let failures: u64 = self.arms.iter().map(|arm| arm.failures).sum();
        let calls: u64 = self.units.iter().map(|unit| unit.sums.calls).sum();
        if failures * 20 > calls {
            out.push(format!("{} got no answer from the provider.", count(failures, "request")));
        }
        out
    }
}
