//! The result of a comparison on one screen: which presets are shown and
//! in which order, what stands out about each, and what it costs in dollars per session.

use super::comparison::Comparison;
use super::figures::FIGURES;
use super::line::PresetLine;
use super::sessions::SessionLine;
use foldback_core::strategy::Kind;

/// A preset that keeps less than this share of what later calls needed forgets much.
pub const MUCH_FORGOTTEN: f64 = 0.8;

/// What stands out most about a preset, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// It sent this many requests over the window.
    SentOver(u64),
    /// It broke rules of the provider this many times.
    BrokeRules(u64),
    /// It changed nothing in any session.
    NeverActed,
    /// It loses what was just read.
    LosesNear,
    /// It keeps less than [`MUCH_FORGOTTEN`].
    ForgetsMuch,
    /// It sent this many requests that are over the window by their calibrated size.
    Doubtful(u64),
    /// The whole interval of its bill is above that of the base.
    Dearer,
    /// The interval of its bill holds that of the base.
    Tie,
}

/// What is shown first.
#[derive(Clone, Debug, Default)]
pub struct Answer<'a> {
    /// Indices of the strategies by their bill, those that a provider refuses last, without those below.
    pub shown: Vec<usize>,
    /// Names of presets that changed nothing in any session.
    pub idle: Vec<&'a str>,
    /// Names of presets that exist for study, as twins of others that are compared.
    pub twins: Vec<&'a str>,
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

    /// What stands out most.
    pub fn remark(&self) -> Option<Remark> {
        let gate = &self.gate;
        let cost = &self.metrics.cost_ratio;
        let interval = cost.lo.zip(cost.hi);
        Some(match gate {
            _ if gate.sent_over > 0 => Remark::SentOver(gate.sent_over),
            _ if gate.strategy_violations > 0 => Remark::BrokeRules(gate.strategy_violations),
            _ if self.triggered == 0 => Remark::NeverActed,
            _ if self.loses_near => Remark::LosesNear,
            _ if self.metrics.frr_obs_far.value.is_some_and(|kept| kept < MUCH_FORGOTTEN) => {
                Remark::ForgetsMuch
            }
            _ if gate.is_doubtful() => Remark::Doubtful(gate.calibrated_over.unwrap_or_default()),
            _ if interval.is_some_and(|(lo, _)| lo > 1.0) => Remark::Dearer,
            _ if interval.is_some_and(|(lo, hi)| lo <= 1.0 && hi >= 1.0) => Remark::Tie,
            _ => return None,
        })
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
    /// What is shown first. `twins` says whether twins are left out; a preset that was named is always shown.
    pub fn answer(&self, twins: bool) -> Answer<'_> {
        let mut answer = Answer {
            too_short: self.corpus.imported - self.corpus.triggering,
            ..Answer::default()
        };
        let names: Vec<&str> = self.presets.iter().map(PresetLine::name).collect();
        for at in self.by_bill() {
            let line = &self.presets[at];
            let is_twin = line.twin_of.as_deref().is_some_and(|of| names.contains(&of));
            let shown = answer.shown.iter().map(|other| &self.presets[*other]);
            if line.triggered == 0 && line.gate.passed {
                answer.idle.push(line.name());
            } else if is_twin && !twins {
                answer.twins.push(line.name());
            } else if let Some(same) = shown.into_iter().find(|other| other.is_like(line)) {
                answer.same.push((line.name(), same.name()));
            } else {
                answer.shown.push(at);
            }
        }
        answer
    }

    /// Indices of the strategies by their bill, those that a provider refuses last.
    fn by_bill(&self) -> Vec<usize> {
        let mut order = self.of_kind(Kind::Strategy);
        let bill = |line: &PresetLine| {
            let metrics = &line.metrics;
            metrics.cost_ratio.value.unwrap_or(f64::MAX)
        };
        order.sort_by(|a, b| {
            let (a, b) = (&self.presets[*a], &self.presets[*b]);
            b.gate.passed.cmp(&a.gate.passed).then(bill(a).total_cmp(&bill(b)))
        });
        order
    }

    /// The cheapest preset that keeps enough, else the first of those that are shown and acted, with the session in which it forgot
    /// most.
    pub fn telling(&self, answer: &Answer<'_>) -> Option<(&SessionLine, &PresetLine)> {
        let is_best = |line: &PresetLine| self.best().is_some_and(|best| std::ptr::eq(line, best));
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
    use crate::compare::{CorpusSummary, Dollars, Gate, Metric, Metrics};

    fn line(preset: &str, usd: f64, interval: (f64, f64), kept: f64) -> PresetLine {
        let cost = Metric {
            value: Some(usd),
            lo: Some(interval.0),
            hi: Some(interval.1),
            ..Metric::default()
        };
        PresetLine {
            preset: preset.to_owned(),
            gate: Gate { passed: true, ..Gate::default() },
            triggered: 1,
            rank: Some(1),
            metrics: Metrics {
                cost_ratio: cost,
                frr_obs_far: Metric { value: Some(kept), ..Metric::default() },
                ..Metrics::default()
            },
            dollars: Dollars { n: 2, usd, ratio: Some(usd), ..Dollars::default() },
            ..PresetLine::default()
        }
    }

    #[test]
    fn the_worst_is_what_stands_out() {
        let sound = || line("sound", 0.5, (0.4, 0.6), 0.9);
        let with = |change: &dyn Fn(&mut PresetLine)| {
            let mut line = line("poor", 1.1, (1.05, 1.2), 0.7);
            change(&mut line);
            line.remark()
        };
        assert_eq!(sound().remark(), None);
        assert_eq!(line("dear", 1.1, (1.05, 1.2), 0.9).remark(), Some(Remark::Dearer));
        assert_eq!(line("tied", 1.0, (0.9, 1.2), 0.9).remark(), Some(Remark::Tie));
        assert_eq!(with(&|_| ()), Some(Remark::ForgetsMuch));
        assert_eq!(with(&|line| line.loses_near = true), Some(Remark::LosesNear));
        assert_eq!(with(&|line| line.triggered = 0), Some(Remark::NeverActed));
        assert_eq!(with(&|line| line.gate.strategy_violations = 3), Some(Remark::BrokeRules(3)));
        let over = with(&|line| {
            line.gate.strategy_violations = 3;
            line.gate.sent_over = 149;
        });
        assert_eq!(over, Some(Remark::SentOver(149)));
        let mut doubtful = sound();
        doubtful.gate.calibrated_over = Some(4);
        assert_eq!(doubtful.remark(), Some(Remark::Doubtful(4)));
    }

    #[test]
    fn twins_and_what_is_the_same_are_named_and_not_shown() {
        let mut presets = vec![
            line("none", 1.0, (1.0, 1.0), 1.0),
            line("window+extractive", 0.5, (0.4, 0.6), 0.5),
            line("faithful+extractive", 0.6, (0.5, 0.7), 0.5),
            line("copy", 0.5, (0.4, 0.6), 0.5),
            line("other", 0.9, (0.8, 1.1), 0.9),
            line("random", 0.9, (0.8, 1.1), 0.9),
            line("idle", 0.1, (0.1, 0.1), 1.0),
            line("refused", 0.2, (0.1, 0.3), 1.0),
        ];
        for at in [1, 2] {
            presets[at].summarizer = Some("extractive".to_owned());
        }
        presets[2].twin_of = Some("window".to_owned());
        presets[4].twin_of = Some("not compared".to_owned());
        for at in [0, 5] {
            presets[at].kind = Kind::Control;
            presets[at].rank = None;
        }
        presets[6].triggered = 0;
        presets[7].gate.passed = false;
        let corpus = CorpusSummary { imported: 5, triggering: 3, ..CorpusSummary::default() };
        let comparison = Comparison { corpus, presets, ..Comparison::default() };
        let answer = comparison.answer(false);
        // By their bills, and what is refused last.
        assert_eq!((answer.shown, answer.twins), (vec![1, 4, 7], vec!["faithful"]));
        assert_eq!(answer.idle, ["idle"]);
        assert_eq!((answer.same, answer.too_short), (vec![("copy", "window")], 2));
        // What was named is shown.
        assert_eq!(comparison.answer(true).shown, [1, 2, 4, 7]);
    }
}
