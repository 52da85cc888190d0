//! The answer of a comparison: which preset to use, or that what runs today should stay.
//!
//! Presets are candidates if they acted and do nothing that a provider refuses. Of those that measurably save, do not lose what
//! was just read and do not measurably keep too little, the lowest bill is not always the best choice: of those that cost about as
//! much, the one that keeps most in view is, or the cheapest that keeps about as much as it. Where something must be cut, a preset
//! need not save.

use super::comparison::Comparison;
use super::difference::ALPHA;
use super::line::PresetLine;
use super::sessions::Unit;
use foldback_core::strategy::Kind;

/// A preset must save this share of what is paid today to be worth a change.
const WORTHWHILE: f64 = 0.05;

/// Bills that are closer than this share cost about the same.
const ABOUT_THE_SAME: f64 = 0.1;

/// Presets keep about as much as another if it keeps less than this share of what was needed more than they do.
const ABOUT_AS_MUCH: f64 = 0.03;

/// The screen tells of presets of which one loses this share of the rules more than another.
const MUCH_OF_THE_RULES: f64 = 1.0 / 3.0;

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict<'a> {
    /// There is no strategy to choose, or no bill to compare with.
    Nothing,
    /// Something acted in so few sessions that there are sums alone.
    TooFew {
        /// Sessions.
        acting: usize,
        /// The cheapest candidate that keeps enough, by the sums.
        lowest: Option<&'a PresetLine>,
    },
    /// Keep what runs today.
    Stay(Reason<'a>),
    /// Use a preset.
    Use {
        /// This one.
        best: &'a PresetLine,
        /// Those that save, keep enough, and cost about as much as it, the cheapest first.
        alike: Vec<&'a PresetLine>,
        /// One that costs less and keeps less.
        cheaper: Option<&'a PresetLine>,
        /// One that keeps more and costs more.
        fuller: Option<&'a PresetLine>,
    },
}

/// Why what runs today should stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason<'a> {
    /// No session came near a limit.
    NothingActed,
    /// Whatever acted does what a provider refuses.
    Refused,
    /// Whatever keeps enough costs more.
    CostsMore,
    /// What would save keeps too little. This one saves most; where something must be cut, it keeps most.
    Forgets(&'a PresetLine),
    /// The differences are within noise, or too small to be worth a change.
    Noise,
}

impl PresetLine {
    /// Whether it can be chosen: a strategy that acted, and did nothing that a provider refuses.
    pub fn is_choice(&self) -> bool {
        self.kind == Kind::Strategy && self.gate.passed && self.triggered > 0
    }

    /// Whether it saves measurably.
    pub fn saves(&self) -> bool {
        self.against_base.as_ref().is_some_and(|difference| difference.saves())
    }

    /// Whether it measurably keeps less than a share of what was needed.
    pub(super) fn forgets(&self, least: f64) -> bool {
        let kept = &self.metrics.frr_obs_far;
        kept.hi.or(kept.value).is_some_and(|most| most < least)
    }

    /// What it kept; everything where nothing was needed.
    fn kept(&self) -> f64 {
        let kept = &self.metrics.frr_obs_far;
        kept.value.or(kept.lo).unwrap_or(1.0)
    }
}

/// Of presets by their bills, the cheapest that keeps about as much as any of them.
fn fullest<'a>(presets: &[(f64, &'a PresetLine)]) -> Option<(f64, &'a PresetLine)> {
    let most = presets.iter().map(|(_, line)| line.kept()).fold(0.0, f64::max);
    presets.iter().copied().find(|(_, line)| line.kept() > most - ABOUT_AS_MUCH)
}

impl Comparison {
    /// What to do.
    pub fn verdict(&self) -> Verdict<'_> {
        let acted = |line: &PresetLine| line.triggered > 0;
        let strategies = || self.presets.iter().filter(|line| line.kind == Kind::Strategy);
        let Some(base) = self.base.as_ref().filter(|_| strategies().next().is_some()) else {
            return Verdict::Nothing;
        };
        if !strategies().any(acted) {
            return Verdict::Stay(Reason::NothingActed);
        }
        let bills = strategies().filter(|line| line.is_choice());
        let mut choices: Vec<(f64, &PresetLine)> =
            bills.filter_map(|line| Some((line.ratio.value?, line))).collect();
        // Of equal bills, the one that keeps more; of equals, the first.
        choices.sort_by(|(a, one), (b, other)| {
            a.total_cmp(b).then_with(|| other.kept().total_cmp(&one.kept()))
        });
        let enough = |line: &PresetLine| !line.loses_near && !line.forgets(self.reporting.keep);
        let mut keeping = choices.iter().filter(|(_, line)| enough(line)).copied();
        if self.corpus.unit == Unit::Sums {
            let lowest = keeping.next().map(|(_, line)| line);
            return Verdict::TooFew { acting: self.corpus.triggering, lowest };
        }
        // Where something must be cut, there is nothing to stay with.
        let saves = |(ratio, line): &(f64, &PresetLine)| {
            base.must_cut() || *ratio <= 1.0 - WORTHWHILE && line.saves()
        };
        let saving: Vec<(f64, &PresetLine)> = keeping.clone().filter(saves).collect();
        let Some((lowest, cheapest)) = saving.first().copied() else {
            let most = |(_, a): &&(f64, &PresetLine), (_, b): &&(f64, &PresetLine)| {
                a.kept().total_cmp(&b.kept())
            };
            let forgets = match base.must_cut() {
                true => choices.iter().max_by(most),
                false => choices.iter().find(|choice| saves(choice)),
            };
            return Verdict::Stay(match forgets {
                Some((_, line)) => Reason::Forgets(line),
                None if choices.is_empty() => Reason::Refused,
                None if keeping.all(|(ratio, _)| ratio >= 1.0) => Reason::CostsMore,
                None => Reason::Noise,
            });
        };
        let alike = saving.iter().filter(|(ratio, line)| {
            *ratio <= lowest * (1.0 + ABOUT_THE_SAME) || self.ties(line, cheapest)
        });
        let alike: Vec<(f64, &PresetLine)> = alike.copied().collect();
        let (ratio, best) = fullest(&alike).unwrap_or((lowest, cheapest));
        let keeps_more = |(dearer, line): &&(f64, &PresetLine)| {
            *dearer > ratio && line.kept() >= best.kept() + ABOUT_AS_MUCH
        };
        let keeping_more: Vec<_> = saving.iter().filter(keeps_more).copied().collect();
        let fuller = fullest(&keeping_more).map(|(_, line)| line);
        let cheaper = choices.first().filter(|(less, line)| {
            *less <= ratio * (1.0 - WORTHWHILE) && line.kept() < best.kept()
        });
        let cheaper = cheaper.map(|(_, line)| *line);
        let others = alike.iter().map(|(_, line)| *line);
        let alike = others.filter(|line| !std::ptr::eq(*line, best)).collect();
        Verdict::Use { best, alike, cheaper, fuller }
    }

    /// The preset of the verdict; with too few sessions for one, the cheapest that keeps enough.
    pub fn best(&self) -> Option<&PresetLine> {
        match self.verdict() {
            Verdict::Use { best, .. } => Some(best),
            Verdict::TooFew { lowest, .. } => lowest,
            Verdict::Nothing | Verdict::Stay(_) => None,
        }
    }

    /// Of the presets that can be chosen, the one that loses most of the rules that users gave and the one that loses least, each with
    /// the share that it loses. `None` where the two shares differ by less than a third of all rules.
    pub fn rules_lost(&self) -> Option<[(&PresetLine, f64); 2]> {
        let kept = |line: &PresetLine| line.metrics.rules_kept.value;
        let choices = self.presets.iter().filter(|line| self.is_tested() && line.is_choice());
        let lost = choices.filter_map(|line| Some((line, 1.0 - kept(line)?)));
        let mut lost: Vec<(&PresetLine, f64)> = lost.collect();
        // Of equals, the first.
        lost.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let (least, most) = (*lost.first()?, *lost.last()?);
        (most.1 - least.1 >= MUCH_OF_THE_RULES).then_some([most, least])
    }

    /// Whether the test does not separate the bills of two presets. Its p-value is not adjusted over all pairs: the more presets
    /// are compared, the more would cost about the same, however much they differ.
    fn ties(&self, one: &PresetLine, other: &PresetLine) -> bool {
        let pair = |pair: &super::Contrast| pair.between(&one.preset, &other.preset);
        let p = self.contrasts.iter().find_map(pair).and_then(|pair| pair.net.p);
        p.is_none_or(|p| p > ALPHA)
    }

    /// Whether there are enough sessions for intervals and tests.
    pub fn is_tested(&self) -> bool {
        self.corpus.unit != Unit::Sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Base, Contrast, CorpusSummary, Difference, Gate, Metric};

    /// A preset with its bill to that of the base, whether it saves measurably, and what it kept.
    fn line(preset: &str, ratio: f64, saves: bool, kept: f64) -> PresetLine {
        let metric = |value| Metric { value: Some(value), ..Metric::default() };
        let against_base = Difference {
            value: Some(ratio),
            p_holm: Some(if saves { 0.01 } else { 0.5 }),
            ..Difference::default()
        };
        let mut line = PresetLine {
            preset: preset.to_owned(),
            gate: Gate { passed: true, ..Gate::default() },
            triggered: 1,
            ratio: metric(ratio),
            against_base: Some(against_base),
            ..PresetLine::default()
        };
        line.metrics.frr_obs_far = metric(kept);
        line
    }

    /// The tests separate all pairs but those of `ties`.
    fn verdict(presets: Vec<PresetLine>, unit: Unit, ties: &[(&str, &str)], base: &str) -> String {
        let mut contrasts = Vec::new();
        for (at, first) in presets.iter().enumerate() {
            for second in &presets[at + 1..] {
                let is_tie = |pair: &(&str, &str)| {
                    [*pair, (pair.1, pair.0)]
                        .contains(&(first.preset.as_str(), second.preset.as_str()))
                };
                let p = if ties.iter().any(is_tie) { 0.5 } else { 0.01 };
                contrasts.push(Contrast {
                    first: first.preset.clone(),
                    second: second.preset.clone(),
                    net: Difference { p: Some(p), ..Difference::default() },
                    frr_obs_far: Difference::default(),
                });
            }
        }
        let corpus = CorpusSummary { unit, triggering: 7, ..CorpusSummary::default() };
        let base =
            Base { preset: base.to_owned(), sessions: 9, usd: 1.0, net_usd: None, narrowed: false };
        let comparison =
            Comparison { corpus, presets, contrasts, base: Some(base), ..Comparison::default() };
        match comparison.verdict() {
            Verdict::Nothing => "nothing".to_owned(),
            Verdict::TooFew { acting, lowest } => {
                format!("{acting} acted, {}", lowest.map_or("-", |line| &line.preset))
            }
            Verdict::Stay(Reason::Forgets(line)) => format!("stay: {} forgets", line.preset),
            Verdict::Stay(reason) => format!("stay: {reason:?}"),
            Verdict::Use { best, alike, cheaper, fuller } => {
                let cheaper = cheaper.map_or("-", |line| &line.preset);
                let fuller =
                    fuller.map_or(String::new(), |line| format!(", {} has more", line.preset));
                format!("{} of {} over {cheaper}{fuller}", best.preset, alike.len() + 1)
            }
        }
    }

    #[test]
    fn rules_are_told_of_where_a_preset_loses_a_third_more_than_another() {
        let lost = |kept: &[Option<f64>], unit| {
            let preset = |(at, kept): (usize, &Option<f64>)| {
                let mut line = line(&at.to_string(), 1.0, false, 1.0);
                line.metrics.rules_kept.value = *kept;
                line
            };
            let presets = kept.iter().enumerate().map(preset).collect();
            let corpus = CorpusSummary { unit, ..CorpusSummary::default() };
            let comparison = Comparison { corpus, presets, ..Comparison::default() };
            let lost = comparison.rules_lost();
            lost.map(|lost| lost.map(|(line, lost)| format!("{} {lost}", line.preset)).join(", "))
        };
        let table = [
            (&[Some(1.0), None, Some(0.25), Some(0.5)][..], Some("2 0.75, 0 0")),
            (&[Some(0.75), Some(0.5)], None),
            (&[Some(0.5), None], None),
            (&[], None),
        ];
        for (kept, expected) in table {
            assert_eq!(lost(kept, Unit::Sessions).as_deref(), expected, "{kept:?}");
            assert_eq!(lost(kept, Unit::Sums), None);
        }
    }

    #[test]
    fn verdicts_as_a_table() {
        let paid = "as-recorded";
        let sessions = |lines| verdict(lines, Unit::Sessions, &[], paid);
        let plain = || {
            vec![
                line("dear", 1.2, false, 1.0),
                line("keeps", 0.9, true, 0.99),
                line("about", 0.75, true, 0.95),
                line("low", 0.7, true, 0.85),
                line("forgets", 0.4, true, 0.3),
            ]
        };
        let with = |change: &dyn Fn(&mut Vec<PresetLine>)| {
            let mut lines = plain();
            change(&mut lines);
            lines
        };
        // Two cost about the same as the lowest bill; one of them keeps more. What keeps still more is named, too.
        assert_eq!(sessions(plain()), "about of 2 over forgets, keeps has more");
        // What can't be told from the lowest costs about the same, too.
        assert_eq!(
            verdict(plain(), Unit::Sessions, &[("low", "keeps")], paid),
            "keeps of 3 over forgets"
        );
        // What keeps a little less and costs less is the better choice.
        let near = with(&|all| all[3].metrics.frr_obs_far.value = Some(0.93));
        assert_eq!(sessions(near), "low of 2 over forgets, keeps has more");
        assert_eq!(verdict(plain(), Unit::Sums, &[], paid), "7 acted, low");
        // Where something must be cut, what costs more can be chosen, too.
        let cut = |lines| verdict(lines, Unit::Sessions, &[], "drop-oldest");
        assert_eq!(cut(plain().drain(..1).collect()), "dear of 1 over -");
        assert_eq!(cut(plain().drain(4..).collect()), "stay: forgets forgets");
        assert_eq!(sessions(Vec::new()), "nothing");
        let table: [(&str, Vec<PresetLine>, &str); 9] = [
            (
                "all idle",
                with(&|all| all.iter_mut().for_each(|line| line.triggered = 0)),
                "stay: NothingActed",
            ),
            (
                "all refused",
                with(&|all| all.iter_mut().for_each(|line| line.gate.passed = false)),
                "stay: Refused",
            ),
            ("none saves", plain().drain(..1).collect(), "stay: CostsMore"),
            ("only what forgets saves", plain().drain(4..).collect(), "stay: forgets forgets"),
            ("by chance", vec![line("chance", 0.8, false, 1.0)], "stay: Noise"),
            ("too little", vec![line("little", 0.96, true, 1.0)], "stay: Noise"),
            (
                "an interval that reaches the bar",
                {
                    let mut lines = plain();
                    lines[4].metrics.frr_obs_far.hi = Some(0.81);
                    lines
                },
                "forgets of 1 over -, keeps has more",
            ),
            (
                "what was just read",
                with(&|all| all[2].loses_near = true),
                "low of 1 over forgets, keeps has more",
            ),
            (
                "refused",
                with(&|all| all[3].gate.passed = false),
                "about of 1 over forgets, keeps has more",
            ),
        ];
        for (name, lines, expected) in table {
            assert_eq!(sessions(lines), expected, "{name}");
        }
    }
}
