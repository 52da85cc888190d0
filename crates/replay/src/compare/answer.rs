//! The result of a comparison on one screen: which presets are shown and
//! in which order, what stands out about each, and what it costs in dollars per session.

use super::comparison::Comparison;
use super::figures::FIGURES;
use super::line::PresetLine;
use super::sessions::SessionLine;

/// What stands out about a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// It sent this many requests over the window.
    Over(u64),
    /// It broke rules of the provider this many times.
    BrokeRules(u64),
    /// It loses what was just read.
    LosesNear,
    /// It measurably keeps less than a preset should.
    ForgetsMuch,
    /// It measurably costs more than the base.
    Dearer,
}

/// What is shown first.
#[derive(Clone, Debug, Default)]
pub struct Answer<'a> {
    /// Indices of the strategies by their bill, those that a provider refuses last, without those below.
    pub shown: Vec<usize>,
    /// Names of presets that changed nothing in any session.
    pub idle: Vec<&'a str>,
    /// Names of presets with the same results as another, and that other.
    pub same: Vec<(&'a str, &'a str)>,
    /// Sessions in which no strategy changed anything.
    pub too_short: usize,
}

impl PresetLine {
    /// Its name without the summarizer that stood in.
    pub fn name(&self) -> &str {
        let ending = self.summarizer.as_deref().and_then(|id| self.preset.strip_suffix(id));
        ending.and_then(|name| name.strip_suffix('+')).unwrap_or(&self.preset)
    }

    /// What stands out, the worst first.
    pub fn remarks(&self, keep: f64) -> Vec<Remark> {
        let gate = &self.gate;
        let dearer = self.against_base.as_ref().is_some_and(|difference| difference.costs_more());
        let remarks = [
            (gate.strategy_violations > 0, Remark::BrokeRules(gate.strategy_violations)),
            (gate.over > 0, Remark::Over(gate.over)),
            (self.loses_near, Remark::LosesNear),
            (self.forgets(keep), Remark::ForgetsMuch),
            (dearer, Remark::Dearer),
        ];
        remarks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, remark)| remark).collect()
    }

    /// Whether all counts of the two are equal.
    fn is_like(&self, other: &Self) -> bool {
        let counts = |line: &Self| {
            let sizes = [line.input_tokens, line.compactions, line.dollars.usd.to_bits()];
            (sizes, line.gate)
        };
        let kept = |line: &Self| {
            FIGURES.iter().map(|figure| (figure.of)(&line.metrics).value).collect::<Vec<_>>()
        };
        counts(self) == counts(other) && kept(self) == kept(other)
    }
}

impl Comparison {
    /// What is shown first.
    pub fn answer(&self) -> Answer<'_> {
        let mut answer = Answer {
            too_short: self.corpus.imported - self.corpus.triggering,
            ..Answer::default()
        };
        for at in self.by_bill() {
            let line = &self.presets[at];
            let shown = answer.shown.iter().map(|other| &self.presets[*other]);
            if line.triggered == 0 && line.gate.passed {
                answer.idle.push(line.name());
            } else if let Some(same) = shown.into_iter().find(|other| other.is_like(line)) {
                answer.same.push((line.name(), same.name()));
            } else {
                answer.shown.push(at);
            }
        }
        answer
    }

    /// The preset of the verdict, else the first of those that are shown and acted, with the session in which it forgot
    /// most.
    pub fn telling(&self, answer: &Answer<'_>) -> Option<(&SessionLine, &PresetLine)> {
        let best = self.best();
        let is_best = |line: &PresetLine| best.is_some_and(|best| std::ptr::eq(line, best));
        let best = self.presets.iter().position(is_best);
        let first = || answer.shown.iter().copied().find(|at| self.presets[*at].triggered > 0);
        let at = best.or_else(first)?;
        let own = self.scores.iter().filter_map(|scores| scores.get(at));
        let acted = own.filter(|score| score.metrics.compactions > 0);
        let most = acted.max_by_key(|score| {
            let asked = score.retention.obs_far;
            (asked.needed - asked.kept, std::cmp::Reverse(score.session()))
        })?;
        Some((self.corpus.sessions.get(most.session())?, &self.presets[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CorpusSummary, Difference, Dollars, Gate, Metric, Metrics};
    use foldback_core::strategy::Kind;

    fn line(preset: &str, usd: f64, kept: f64) -> PresetLine {
        let metric = |value| Metric { value: Some(value), ..Metric::default() };
        PresetLine {
            preset: preset.to_owned(),
            gate: Gate { passed: true, ..Gate::default() },
            triggered: 1,
            ratio: metric(usd),
            metrics: Metrics { frr_obs_far: metric(kept), ..Metrics::default() },
            dollars: Dollars { n: 2, usd, ratio: Some(usd), ..Dollars::default() },
            ..PresetLine::default()
        }
    }

    #[test]
    fn remarks_do_not_hide_each_other() {
        let with = |change: &dyn Fn(&mut PresetLine)| {
            let mut line = line("poor", 0.5, 0.9);
            change(&mut line);
            line.remarks(0.8)
        };
        let against = |value, p_holm| {
            Some(Difference { value: Some(value), p_holm: Some(p_holm), ..Difference::default() })
        };
        assert_eq!(with(&|_| ()), []);
        assert_eq!(with(&|line| line.loses_near = true), [Remark::LosesNear]);
        assert_eq!(with(&|line| line.gate.strategy_violations = 3), [Remark::BrokeRules(3)]);
        assert_eq!(with(&|line| line.against_base = against(1.1, 0.01)), [Remark::Dearer]);
        assert_eq!(with(&|line| line.against_base = against(1.1, 0.9)), []);
        assert_eq!(with(&|line| line.metrics.frr_obs_far.hi = Some(0.79)), [Remark::ForgetsMuch]);
        let both = with(&|line| {
            line.gate.over = 149;
            line.metrics.frr_obs_far.value = Some(0.5);
        });
        assert_eq!(both, [Remark::Over(149), Remark::ForgetsMuch]);
        let reaches = with(&|line| {
            line.metrics.frr_obs_far =
                Metric { value: Some(0.7), hi: Some(0.8), ..Metric::default() };
        });
        assert_eq!(reaches, []);
    }

    #[test]
    fn what_is_the_same_is_named_and_not_shown() {
        let mut presets = vec![
            line("none", 1.0, 1.0),
            line("window+extractive", 0.5, 0.5),
            line("copy", 0.5, 0.5),
            line("other", 0.9, 0.9),
            line("random", 0.9, 0.9),
            line("idle", 0.1, 1.0),
            line("refused", 0.2, 1.0),
        ];
        presets[1].summarizer = Some("extractive".to_owned());
        for at in [0, 4] {
            presets[at].kind = Kind::Control;
        }
        presets[5].triggered = 0;
        presets[6].gate.passed = false;
        let corpus = CorpusSummary { imported: 5, triggering: 3, ..CorpusSummary::default() };
        let comparison = Comparison { corpus, presets, ..Comparison::default() };
        let answer = comparison.answer();
        // By their bills, and what is refused last.
        assert_eq!((answer.shown, answer.idle), (vec![1, 3, 6], vec!["idle"]));
        assert_eq!((answer.same, answer.too_short), (vec![("copy", "window")], 2));
    }
}
