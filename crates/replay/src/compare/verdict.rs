//! The answer of a comparison in one sentence: the cheapest preset that keeps enough.

use super::comparison::Comparison;
use super::contrast::LEAST_CLUSTERS;
use super::line::PresetLine;
use foldback_core::strategy::Kind;

/// Which preset to use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict<'a> {
    /// No preset changed anything, or there is no bill to compare with.
    Nothing,
    /// There are too few tasks to rank presets: so many.
    Few(usize),
    /// The cheapest preset that keeps enough.
    Cheapest {
        /// This one.
        best: &'a PresetLine,
        /// The dearest of those that are cheaper and keep less.
        cheaper: Option<&'a PresetLine>,
    },
    /// No preset keeps enough; this one keeps most.
    NoneKeeps(&'a PresetLine),
}

impl PresetLine {
    /// Whether it can be chosen: a strategy that acted, and did nothing that a provider refuses.
    pub fn is_choice(&self) -> bool {
        self.kind == Kind::Strategy && self.gate.passed && self.triggered > 0
    }

    /// Its bill to that of the base, and what it kept, if both are known.
    fn saved_and_kept(&self) -> Option<(f64, f64)> {
        Some((self.metrics.cost_ratio.value?, self.metrics.frr_obs_far.value?))
    }
}

impl Comparison {
    /// Which preset to use: the cheapest that keeps at least [`Reporting::keep`](super::Reporting::keep) of what later
    /// calls needed.
    pub fn verdict(&self) -> Verdict<'_> {
        match self.choice() {
            Verdict::Cheapest { .. } | Verdict::NoneKeeps(_) if !self.ranks() => {
                Verdict::Few(self.corpus.clusters)
            }
            choice => choice,
        }
    }

    /// The preset of the verdict, also with too few tasks for one.
    pub fn best(&self) -> Option<&PresetLine> {
        match self.choice() {
            Verdict::Cheapest { best, .. } | Verdict::NoneKeeps(best) => Some(best),
            Verdict::Nothing | Verdict::Few(_) => None,
        }
    }

    fn choice(&self) -> Verdict<'_> {
        let lines = self.presets.iter().filter(|line| line.is_choice());
        let mut choices: Vec<(&PresetLine, (f64, f64))> =
            lines.filter_map(|line| Some((line, line.saved_and_kept()?))).collect();
        // Of equal bills, the one that keeps more.
        choices.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let by_kept = |(_, a): &&(_, (f64, f64)), (_, b): &&(_, (f64, f64))| {
            a.1.total_cmp(&b.1).then(b.0.total_cmp(&a.0))
        };
        let Some((most, _)) = choices.iter().max_by(by_kept) else { return Verdict::Nothing };
        match choices.iter().position(|(_, (_, kept))| *kept >= self.reporting.keep) {
            Some(at) => Verdict::Cheapest {
                best: choices[at].0,
                cheaper: choices[..at].last().map(|(line, _)| *line),
            },
            None => Verdict::NoneKeeps(most),
        }
    }

    /// Whether there are enough tasks to rank presets.
    pub fn ranks(&self) -> bool {
        self.corpus.clusters >= LEAST_CLUSTERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CorpusSummary, Gate, Metric};

    fn line(preset: &str, ratio: f64, kept: f64) -> PresetLine {
        let metric = |value| Metric { value: Some(value), ..Metric::default() };
        let mut line = PresetLine {
            preset: preset.to_owned(),
            gate: Gate { passed: true, ..Gate::default() },
            triggered: 1,
            ..PresetLine::default()
        };
        line.metrics.frr_obs_far = metric(kept);
        line.metrics.cost_ratio = metric(ratio);
        line.metrics.saving_usd = metric(1.0 - ratio);
        line
    }

    #[test]
    fn verdicts_as_a_table() {
        let lines = || {
            vec![
                line("dear", 0.9, 1.0),
                line("best", 0.8, 0.96),
                line("cheap", 0.7, 0.9),
                line("cheapest", 0.5, 0.3),
            ]
        };
        let verdict = |clusters, keep, presets: Vec<PresetLine>| {
            let corpus = CorpusSummary { clusters, ..CorpusSummary::default() };
            let mut comparison = Comparison { corpus, presets, ..Comparison::default() };
            comparison.reporting.keep = keep;
            match comparison.verdict() {
                Verdict::Nothing => "nothing".to_owned(),
                Verdict::Few(tasks) => format!("{tasks} tasks"),
                Verdict::Cheapest { best, cheaper } => {
                    format!("{} over {}", best.preset, cheaper.map_or("-", |line| &line.preset))
                }
                Verdict::NoneKeeps(most) => format!("at most {}", most.preset),
            }
        };
        assert_eq!(verdict(10, 0.95, lines()), "best over cheap");
        assert_eq!(verdict(10, 0.2, lines()), "cheapest over -");
        assert_eq!(verdict(10, 1.0, lines()), "dear over best");
        assert_eq!(verdict(10, 0.95, lines()[2..].to_vec()), "at most cheap");
        assert_eq!(verdict(9, 0.95, lines()), "9 tasks");
        let mut refused = lines();
        refused[1].gate.passed = false;
        assert_eq!(verdict(10, 0.95, refused), "dear over cheap");
        let idle = lines().into_iter().map(|line| PresetLine { triggered: 0, ..line }).collect();
        assert_eq!(verdict(9, 0.95, idle), "nothing");
        // Of two at one price the one that keeps more.
        assert_eq!(verdict(10, 0.8, vec![line("a", 0.5, 0.9), line("b", 0.5, 0.95)]), "b over -");
    }
}
