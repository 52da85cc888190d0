//! The order of presets: the front of cost against retention, which holds what nothing else beats on both, and
//! the order in which they are shown.

use super::comparison::Comparison;
use super::line::PresetLine;
use foldback_core::strategy::Kind;
use serde::Serialize;

/// What a strategy costs and keeps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Bill to that of the base, with what was missed read again; less is better.
    pub cost: f64,
    /// Share of the references that were kept; more is better.
    pub kept: f64,
}

impl Point {
    /// At least as good on both axes and better on one.
    pub fn dominates(self, other: Self) -> bool {
        self.cost <= other.cost
            && self.kept >= other.kept
            && (self.cost < other.cost || self.kept > other.kept)
    }
}

/// Indices of the points that no other dominates: a lower cost and more kept. Equal points are both of them.
pub fn front(points: &[Option<Point>]) -> Vec<usize> {
    let is_finite = |point: &Point| point.cost.is_finite() && point.kept.is_finite();
    let known = points.iter().enumerate();
    let known = known.filter_map(|(at, point)| Some((at, point.filter(is_finite)?)));
    let known: Vec<(usize, Point)> = known.collect();
    let is_beaten = |point: Point| known.iter().any(|(_, other)| other.dominates(point));
    known.iter().filter(|(_, point)| !is_beaten(*point)).map(|(at, _)| *at).collect()
}

/// The position of a preset relative to the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// No strategy that passes the gates is cheaper and keeps more, and neither is doing nothing.
    Front,
    /// This one is at least as good in both and better in one.
    Dominated(&'a str),
    /// Not compared: a control, a failed gate, a missing value, or a strategy that never acted.
    Apart,
}

impl PresetLine {
    /// Its bill with what was missed read again and its retention of what only observations said, and not recently, if it has both.
    pub(crate) fn point(&self) -> Option<Point> {
        Some(Point { cost: self.ratio.value?, kept: self.metrics.frr_obs_far.value? })
    }
}

impl Comparison {
    /// The standing of every preset, by the values alone, in the order of the presets. Doing nothing is an
    /// option too, if every request fits. Among several that dominate a preset, the one that keeps most is
    /// named, then the cheapest.
    pub fn standings(&self) -> Vec<Standing<'_>> {
        let idle = self.baseline().filter(|line| line.gate.passed);
        let usable = self.presets.iter().filter(|line| line.is_choice());
        let field: Vec<(&str, Point)> = usable
            .chain(idle)
            .filter_map(|line| Some((line.preset.as_str(), line.point()?)))
            .collect();
        let standing = |line: &PresetLine| {
            let Some(point) = line.point().filter(|_| line.is_choice()) else {
                return Standing::Apart;
            };
            let better = field.iter().filter(|(_, other)| other.dominates(point));
            better
                .max_by(|(_, a), (_, b)| a.kept.total_cmp(&b.kept).then(b.cost.total_cmp(&a.cost)))
                .map_or(Standing::Front, |(name, _)| Standing::Dominated(name))
        };
        self.presets.iter().map(standing).collect()
    }

    /// The preset that never changes anything, which the others are compared with.
    pub(crate) fn baseline(&self) -> Option<&PresetLine> {
        self.presets.get(self.baseline)
    }

    /// Indices of the strategies by their bill with what was missed read again, those that a provider refuses last.
    pub fn by_bill(&self) -> Vec<usize> {
        let mut order = self.of_kind(Kind::Strategy);
        let bill = |line: &PresetLine| line.ratio.value.unwrap_or(f64::MAX);
        order.sort_by(|a, b| {
            let (a, b) = (&self.presets[*a], &self.presets[*b]);
            b.gate.passed.cmp(&a.gate.passed).then(bill(a).total_cmp(&bill(b)))
        });
        order
    }

    /// Indices of the controls, as they were given.
    pub fn controls(&self) -> Vec<usize> {
        self.of_kind(Kind::Control)
    }

    /// Indices of the presets of a kind, as they were given.
    pub fn of_kind(&self, kind: Kind) -> Vec<usize> {
        (0..self.presets.len()).filter(|at| self.presets[*at].kind == kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Gate, Metric, Metrics};

    #[test]
    fn only_strategies_that_pass_dominate() {
        let line = |preset: &str, cost: f64, kept: f64| {
            let of = |value| Metric { value: Some(value), ..Metric::default() };
            PresetLine {
                preset: preset.to_owned(),
                gate: Gate { passed: true, ..Gate::default() },
                triggered: 1,
                ratio: of(cost),
                metrics: Metrics { frr_obs_far: of(kept), ..Metrics::default() },
                ..PresetLine::default()
            }
        };
        let presets = vec![
            line("whole", 1.0, 1.0),
            line("same", 1.0, 1.0),
            line("cheap", 0.5, 0.6),
            line("worse", 0.7, 0.6),
            line("dear", 1.2, 0.9),
            line("broken", 0.1, 1.0),
            line("control", 0.1, 1.0),
            line("nothing", 0.1, 1.0),
            line("none", 1.0, 1.0),
            line("idle", 0.1, 1.0),
        ];
        // No compaction stands apart: the requests do not all fit.
        let mut all = Comparison { presets, baseline: 8, ..Comparison::default() };
        all.presets[8].kind = Kind::Control;
        all.presets[8].gate.passed = false;
        all.presets[5].gate.passed = false;
        all.presets[6].kind = Kind::Control;
        all.presets[7].metrics.frr_obs_far.value = None;
        all.presets[9].triggered = 0;
        let expect = [
            Standing::Front,
            Standing::Front,
            Standing::Front,
            Standing::Dominated("cheap"),
            Standing::Dominated("same"),
            Standing::Apart,
            Standing::Apart,
            Standing::Apart,
            Standing::Apart,
            Standing::Apart,
        ];
        assert_eq!(all.standings(), expect);
        // Doing nothing is an option where every request fits.
        all.presets[8].gate.passed = true;
        all.presets[0].ratio.value = Some(1.01);
        all.presets[1].ratio.value = Some(1.02);
        assert_eq!(all.standings()[0], Standing::Dominated("none"));
    }
}
