//! Pairs of strategies: how far apart they are, how sure that is, and which of two is cheaper.

use super::line::PresetLine;
use super::table::{Primary, Table};
use crate::parallel::in_parallel;
use crate::retention::Share;
use crate::setup::Preset;
use crate::stats::{self, Estimate, Pair, Tails};
use foldback_core::strategy::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// A paired difference over sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Ratio of bills first to second, or difference of shares first minus second; `null` if
    /// neither applies.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Two-sided p-value of the paired cluster bootstrap, at least 2/(draws + 1). Pairs of which hardly any draw crosses
    /// the null are drawn as often as the number of pairs asks for.
    pub p: Option<f64>,
    /// The same after Holm's adjustment over all pairs of strategies by this metric; `null` for pairs
    /// with a control, which are exploratory.
    pub p_holm: Option<f64>,
    /// The least difference that 80 % of such comparisons would find: of the log ratio, or of the share.
    pub detectable: Option<f64>,
    /// Sessions.
    pub n: usize,
    /// Tasks or repositories that they fall into.
    #[serde(skip)]
    pub clusters: usize,
    /// Not ranked: the interval and the adjusted test do not both separate the two, or there are fewer
    /// than ten clusters to draw from.
    pub tie: bool,
    /// The draws behind `p`.
    #[serde(skip)]
    pub tails: Option<Tails>,
}

/// Which of two is cheaper even if everything that it forgot were read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cheaper {
    /// The first.
    First,
    /// The second.
    Second,
    /// It depends on whether the agent reads again.
    Depends,
}

/// Two strategies.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Contrast {
    /// Name of the one.
    pub first: String,
    /// Name of the other.
    pub second: String,
    /// Ratio of their bills.
    pub cost: Difference,
    /// Difference of their retention of what only observations said, and not recently.
    pub frr_obs_far: Difference,
    /// By the bounds of the forgetting cost.
    pub cheaper: Cheaper,
}

impl Difference {
    /// The same seen from the other side.
    fn turned(&self, turn: fn(f64) -> f64) -> Self {
        Self {
            value: self.value.map(turn),
            lo: self.hi.map(turn),
            hi: self.lo.map(turn),
            ..self.clone()
        }
    }
}

impl Contrast {
    /// The contrast in the wanted direction; `None` if it is one of other strategies.
    pub fn between(&self, first: &str, second: &str) -> Option<Self> {
        let names = (self.first.as_str(), self.second.as_str());
        if names == (first, second) {
            return Some(self.clone());
        }
        (names == (second, first)).then(|| Self {
            first: first.to_owned(),
            second: second.to_owned(),
            cost: self.cost.turned(f64::recip),
            frr_obs_far: self.frr_obs_far.turned(|value| -value),
            cheaper: match self.cheaper {
                Cheaper::First => Cheaper::Second,
                Cheaper::Second => Cheaper::First,
                Cheaper::Depends => Cheaper::Depends,
            },
        })
    }

    /// The difference by a metric.
    pub fn by(&self, metric: Primary) -> &Difference {
        match metric {
            Primary::Cost => &self.cost,
            Primary::FrrObsFar => &self.frr_obs_far,
        }
    }

    pub(super) fn is_unresolved(&self, metric: Primary) -> bool {
        let difference = self.by(metric);
        let null = match metric {
            Primary::Cost => SAME_BILL,
            Primary::FrrObsFar => SAME_SHARE,
        };
        let crossed = difference.tails.is_none_or(|tails| tails.rarer() > 0);
        difference.tie && !crossed && !difference.is_open(null)
    }

    /// The least difference by a metric that 80 % of such comparisons would find: a share of the bill, or
    /// of what was needed.
    pub fn detectable(&self, metric: Primary) -> Option<f64> {
        let least = self.by(metric).detectable?;
        Some(match metric {
            // Of the log ratio.
            Primary::Cost => least.exp_m1(),
            Primary::FrrObsFar => least,
        })
    }
}

/// With fewer clusters the draws are too few and too similar for an interval to be valid
/// (Cameron, Gelbach and Miller, "Bootstrap-Based Improvements for Inference with Clustered Errors", 2008).
pub(super) const LEAST_CLUSTERS: usize = 10;

/// Ratio of two bills that are the same.
const SAME_BILL: f64 = 1.0;

/// Difference of two shares that are the same.
const SAME_SHARE: f64 = 0.0;

/// A p-value is made of draws on the rarer side of the null; from so many on, more draws change it little.
const ENOUGH_CROSSED: usize = 10;

/// Draws for each pair of a family: the least p-value, adjusted for all pairs, is a quarter of 0.05.
const DRAWS_FOR_A_PAIR: usize = 160;

/// Draws of one pair at most. Families that need more are not refined.
const MOST_DRAWS: usize = 200_000;

/// All pairs of strategies that are not controls.
pub(super) fn contrasts(
    table: &Table<'_>,
    presets: &[Preset],
    lines: &[PresetLine],
) -> Vec<Contrast> {
    let strategies = of_kind(presets, Kind::Strategy);
    let behind = |at: usize| strategies[at + 1..].iter().map(move |second| (at, *second));
    let pairs: Vec<_> = (0..strategies.len()).flat_map(behind).collect();
    let contrast = |(at, second): &(usize, _)| contrast(table, lines, strategies[*at], *second);
    let mut contrasts = in_parallel(&pairs, contrast);
    let pairs: Vec<_> = pairs.into_iter().map(|(at, second)| (strategies[at], second)).collect();
    refine(table, &pairs, &mut contrasts);
    let pairs = contrasts.iter_mut();
    adjust(pairs.map(|contrast| (&mut contrast.cost, &mut contrast.frr_obs_far)));
    contrasts
}

/// Draws again where hardly any draw crossed the null, until the number of pairs can't hide a difference. In rounds:
/// each keeps the sums of its draws for all pairs.
fn refine(table: &Table<'_>, pairs: &[(usize, usize)], contrasts: &mut Vec<Contrast>) {
    let draws = table.reporting.draws.max(1);
    let needed = DRAWS_FOR_A_PAIR * pairs.len();
    if needed > MOST_DRAWS {
        return;
    }
    let numbers: Vec<usize> = (0..pairs.len()).collect();
    for round in 1..needed.div_ceil(draws) {
        let bootstrap = table.bootstrap.round(round);
        *contrasts = in_parallel(&numbers, |at| {
            let (mut contrast, (first, second)) = (contrasts[*at].clone(), pairs[*at]);
            contrast
                .cost
                .refine(|| stats::ratio_of_totals(&bootstrap, bills(table, first, second)));
            contrast
                .frr_obs_far
                .refine(|| stats::proportion_difference(&bootstrap, asked(table, first, second)));
            contrast
        });
    }
}

/// Every strategy against every control that changes something. Exploratory: not in the family that is
/// adjusted for, and nothing is ranked by it.
pub(super) fn against_controls(
    table: &Table<'_>,
    presets: &[Preset],
    lines: &[PresetLine],
) -> Vec<Contrast> {
    let mut controls = of_kind(presets, Kind::Control);
    controls.retain(|control| *control != table.baseline);
    let strategies = of_kind(presets, Kind::Strategy);
    let pairs: Vec<_> = strategies
        .iter()
        .flat_map(|strategy| controls.iter().map(move |control| (*strategy, *control)))
        .collect();
    let contrast = |(strategy, control): &(_, _)| contrast(table, lines, *strategy, *control);
    in_parallel(&pairs, contrast)
}

fn of_kind(presets: &[Preset], kind: Kind) -> Vec<usize> {
    (0..presets.len()).filter(|at| presets[*at].strategy.kind == kind).collect()
}

fn contrast(table: &Table<'_>, lines: &[PresetLine], first: usize, second: usize) -> Contrast {
    Contrast {
        first: lines[first].preset.clone(),
        second: lines[second].preset.clone(),
        cost: cost_of(table, first, second),
        frr_obs_far: retention(table, first, second),
        cheaper: cheaper(&lines[first], &lines[second]),
    }
}

/// Both bills of each session.
fn bills(table: &Table<'_>, first: usize, second: usize) -> impl Iterator<Item = Pair> {
    table.of(first).zip(table.of(second)).filter_map(|(a, b)| {
        let cluster = table.cluster(a);
        Some(Pair { cluster, value: table.bill(a)?.usd, base: table.bill(b)?.usd })
    })
}

fn cost_of(table: &Table<'_>, first: usize, second: usize) -> Difference {
    let pairs = || bills(table, first, second);
    let estimate = stats::ratio_of_totals(&table.bootstrap, pairs());
    let logs: Vec<f64> = pairs()
        .filter(|pair| pair.value > 0.0 && pair.base > 0.0)
        .map(|pair| (pair.value / pair.base).ln())
        .collect();
    // Of the log, to first order: se / value.
    let scale = estimate.value.filter(|value| *value > 0.0).map(f64::recip);
    difference(estimate, &logs, scale, SAME_BILL)
}

/// What both kept in each session that asked something, with its cluster.
fn asked(
    table: &Table<'_>,
    first: usize,
    second: usize,
) -> impl Iterator<Item = (usize, [Share; 2])> {
    // Both were given the same exam, so what the one was asked the other was asked too.
    let both = table.of(first).zip(table.of(second));
    both.map(|(a, b)| (table.cluster(a), [a.retention.obs_far, b.retention.obs_far]))
        .filter(|(_, shares)| shares.iter().all(|share| share.needed > 0))
}

fn retention(table: &Table<'_>, first: usize, second: usize) -> Difference {
    if ![first, second].iter().all(|preset| table.knows_contents(*preset)) {
        return Difference::default();
    }
    let asked = || asked(table, first, second);
    let shifts: Vec<f64> = asked()
        .map(|(_, [a, b])| a.kept as f64 / a.needed as f64 - b.kept as f64 / b.needed as f64)
        .collect();
    let estimate = stats::proportion_difference(&table.bootstrap, asked());
    difference(estimate, &shifts, Some(1.0), SAME_SHARE)
}

fn difference(estimate: Estimate, shifts: &[f64], scale: Option<f64>, null: f64) -> Difference {
    // Sessions that are all alike differ by nothing, and there is nothing to draw.
    let alike = shifts.iter().all(|shift| *shift == 0.0);
    let mut difference = Difference {
        value: estimate.value,
        lo: estimate.lo,
        hi: estimate.hi,
        p: if alike { Some(1.0) } else { estimate.p() },
        tails: estimate.tails.filter(|_| !alike),
        p_holm: None,
        detectable: estimate
            .se
            .zip(scale)
            .map(|(se, scale)| stats::minimum_detectable(se * scale, 0.95, 0.8)),
        n: estimate.n,
        clusters: estimate.clusters,
        tie: false,
    };
    difference.tie = difference.is_open(null);
    difference
}

impl Difference {
    /// Adds further draws if hardly any has crossed the null so far.
    fn refine(&mut self, more: impl FnOnce() -> Estimate) {
        let Some(tails) = self.tails.filter(|tails| tails.rarer() < ENOUGH_CROSSED) else { return };
        let tails = more().tails.map_or(tails, |more| tails.and(more));
        (self.p, self.tails) = (Some(tails.p()), Some(tails));
    }

    /// Whether the interval leaves open which of two is ahead, or there are too few clusters for one.
    fn is_open(&self, null: f64) -> bool {
        let beside = |(lo, hi): (f64, f64)| null < lo || hi < null;
        self.clusters < LEAST_CLUSTERS || !self.lo.zip(self.hi).is_some_and(beside)
    }
}

/// Holm over the bills of these pairs, and over their shares: two questions, each a family. Says what is a tie by it.
/// Differences that were adjusted in a larger family are judged again.
pub(crate) fn adjust<'d>(pairs: impl Iterator<Item = (&'d mut Difference, &'d mut Difference)>) {
    let (mut costs, mut shares): (Vec<_>, Vec<_>) = pairs.unzip();
    for (family, null) in [(&mut costs, SAME_BILL), (&mut shares, SAME_SHARE)] {
        let p = family.iter().map(|difference| difference.p.unwrap_or(f64::NAN));
        let p: Vec<f64> = p.collect();
        for (difference, adjusted) in family.iter_mut().zip(stats::holm(&p)) {
            difference.p_holm = difference.p.map(|_| adjusted);
            difference.tie = difference.is_open(null) || difference.p_holm.is_none_or(|p| p > 0.05);
        }
    }
}

/// Which of two is cheaper even if it reads everything again that it forgot, and the other one nothing.
fn cheaper(first: &PresetLine, second: &PresetLine) -> Cheaper {
    let all = |line: &PresetLine| line.dollars.net_all_usd.unwrap_or(f64::INFINITY);
    if all(first) < second.dollars.usd {
        Cheaper::First
    } else if all(second) < first.dollars.usd {
        Cheaper::Second
    } else {
        Cheaper::Depends
    }
}

/// Gives every strategy that acted and passes the gates its rank by the primary metric: one more than the number
/// of such strategies that are better, ties not counted. Differences below the margin are ties, and so are
/// bills of which either may be the smaller one, depending on what is read again.
pub(super) fn rank(table: &Table<'_>, lines: &mut [PresetLine], contrasts: &[Contrast]) {
    let ranked = PresetLine::is_choice;
    let names: Vec<String> =
        lines.iter().filter(|line| ranked(line)).map(|line| line.preset.clone()).collect();
    for line in lines.iter_mut().filter(|line| ranked(line)) {
        let better =
            names.iter().filter(|other| beats(table, contrasts, other, &line.preset)).count();
        line.rank = Some(better + 1);
    }
}

/// Whether `a` is better than `b` by the primary metric: as a part of the bill of `b`, or in points of what was kept,
/// whichever of the two the contrast has first.
fn beats(table: &Table<'_>, contrasts: &[Contrast], a: &str, b: &str) -> bool {
    let primary = table.reporting.primary;
    contrasts.iter().find_map(|contrast| contrast.between(a, b)).is_some_and(|contrast| {
        let difference = contrast.by(primary);
        let ahead = difference.value.map(|value| match primary {
            // Cheaper is better; the null of a ratio is one.
            Primary::Cost => 1.0 - value,
            Primary::FrrObsFar => value,
        });
        // A bill is smaller only if it stays so when everything forgotten is read again.
        let anyhow = primary != Primary::Cost || contrast.cheaper == Cheaper::First;
        anyhow && !difference.tie && ahead.is_some_and(|by| by > table.reporting.margin)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acted::preset;
    use crate::compare::{Comparison, Gate, Outcome, Reporting, Score};
    use crate::retention::Retention;
    use crate::stats::Bootstrap;
    use crate::study::{Bill, Billed, Pauses};

    /// Bills of `first` and `second` per session, in dollars, and what the first keeps of ten.
    struct Case {
        sessions: usize,
        usd: [f64; 2],
        all_again: f64,
        kept: u64,
        gate: bool,
        primary: Primary,
        margin: f64,
    }

    const PLAIN: Case = Case {
        sessions: 12,
        usd: [0.5, 1.0],
        all_again: 0.6,
        kept: 9,
        gate: true,
        primary: Primary::Cost,
        margin: 0.0,
    };

    fn score(session: usize, preset: usize, usd: f64, kept: u64) -> Score {
        // No two sessions are alike, or there would be nothing to draw.
        let usd = usd * (1.0 + session as f64 / 100.0);
        let by = Billed { regime: crate::cost::OWN.into(), pauses: Pauses::Recorded };
        let outcome = Outcome {
            retention: Retention { obs_far: Share { kept, needed: 10 }, ..Retention::default() },
            bills: [(by, Bill::of_requests(usd, 0.0))].into_iter().collect(),
            ..Outcome::default()
        };
        Score::new(session, preset, outcome)
    }

    fn line(preset: &str, passed: bool, usd: f64, net_all_usd: f64) -> PresetLine {
        let mut line = PresetLine {
            preset: preset.to_owned(),
            gate: Gate { passed, ..Gate::default() },
            triggered: 1,
            ..PresetLine::default()
        };
        line.dollars.usd = usd;
        line.dollars.net_all_usd = Some(net_all_usd);
        line
    }

    /// Places of both, and the contrast.
    fn run(case: &Case) -> ([Option<usize>; 2], Contrast) {
        let presets = ["none", "tunacode", "opencode"].map(preset);
        let scores: Vec<Box<[Score]>> = (0..case.sessions)
            .map(|session| -> Box<[Score]> {
                Box::new([
                    score(session, 0, 2.0, 10),
                    score(session, 1, case.usd[0], case.kept),
                    score(session, 2, case.usd[1], 5),
                ])
            })
            .collect();
        let reporting = Reporting {
            primary: case.primary,
            margin: case.margin,
            draws: 1_000,
            ..Reporting::default()
        };
        let table = Table {
            clusters: &(0..case.sessions).collect::<Vec<_>>(),
            scores: &scores,
            baseline: 0,
            counted: &[],
            narrowed: false,
            reporting: &reporting,
            bootstrap: Bootstrap::new(reporting.draws, reporting.seed),
        };
        let [first, second] = case.usd;
        let mut lines = vec![
            line("none", true, 2.0, 2.0),
            line("tunacode", case.gate, first, case.all_again),
            line("opencode", true, second, second),
        ];
        lines[0].kind = Kind::Control;
        let mut contrasts = contrasts(&table, &presets, &lines);
        rank(&table, &mut lines, &contrasts);
        assert_eq!(lines[0].rank, None, "a control has no place");
        ([lines[1].rank, lines[2].rank], contrasts.remove(0))
    }

    #[test]
    fn places_are_given_to_what_can_be_told_apart() {
        let both = [Some(1), Some(2)];
        let tied = [Some(1), Some(1)];
        let table = [
            ("cheaper", PLAIN, both, Cheaper::First),
            (
                "dearer",
                Case { usd: [1.5, 1.0], all_again: 1.5, ..PLAIN },
                [Some(2), Some(1)],
                Cheaper::Second,
            ),
            ("alike", Case { usd: [1.0, 1.0], all_again: 1.0, ..PLAIN }, tied, Cheaper::Depends),
            ("nine tasks", Case { sessions: 9, ..PLAIN }, tied, Cheaper::First),
            ("ten tasks", Case { sessions: 10, ..PLAIN }, both, Cheaper::First),
            ("within the margin", Case { margin: 0.6, ..PLAIN }, tied, Cheaper::First),
            ("beyond the margin", Case { margin: 0.4, ..PLAIN }, both, Cheaper::First),
            (
                "within the margin, the other one first",
                Case { usd: [1.0, 0.5], all_again: 1.0, margin: 0.6, ..PLAIN },
                tied,
                Cheaper::Second,
            ),
            ("a gate", Case { gate: false, ..PLAIN }, [None, Some(1)], Cheaper::First),
            ("re-reads", Case { all_again: 1.1, ..PLAIN }, tied, Cheaper::Depends),
            (
                "by what is kept",
                Case { primary: Primary::FrrObsFar, usd: [1.5, 1.0], all_again: 1.5, ..PLAIN },
                both,
                Cheaper::Second,
            ),
            (
                "by what is kept, worse",
                Case { primary: Primary::FrrObsFar, kept: 1, ..PLAIN },
                [Some(2), Some(1)],
                Cheaper::First,
            ),
        ];
        for (name, case, places, cheaper) in table {
            let (is, contrast) = run(&case);
            assert_eq!(is, places, "{name}: {contrast:?}");
            assert_eq!(contrast.cheaper, cheaper, "{name}");
        }
    }

    /// The contrasts of so many strategies over twelve sessions. The first has half the bill of the others in each.
    fn many(strategies: usize) -> Comparison {
        let names = (0..=strategies).map(|at| if at == 0 { "none" } else { "tunacode" });
        let presets: Vec<Preset> = names.map(preset).collect();
        let scores: Vec<Box<[Score]>> = (0..12)
            .map(|session| {
                let usd = |preset: usize| match preset {
                    1 => 0.5,
                    _ => 1.0 + ((session * 7 + preset * 5) % 11) as f64 / 50.0,
                };
                (0..=strategies).map(|preset| score(session, preset, usd(preset), 5)).collect()
            })
            .collect();
        let lines: Vec<PresetLine> =
            (0..=strategies).map(|at| line(&format!("preset {at}"), true, 1.0, 1.0)).collect();
        let reporting = Reporting { draws: 1_000, ..Reporting::default() };
        let table = Table {
            clusters: &(0..12).collect::<Vec<_>>(),
            scores: &scores,
            baseline: 0,
            counted: &[],
            narrowed: false,
            reporting: &reporting,
            bootstrap: Bootstrap::new(reporting.draws, reporting.seed),
        };
        let contrasts = contrasts(&table, &presets, &lines);
        Comparison { contrasts, ..Comparison::default() }
    }

    /// The least p-value of a fixed number of draws, times the number of pairs, is no difference however large.
    #[test]
    fn many_pairs_hide_no_difference() {
        let comparison = many(29);
        let apart = comparison.told_apart(Primary::Cost);
        assert_eq!((apart.pairs, apart.unresolved), (406, 0));
        let first: Vec<_> =
            comparison.contrasts.iter().filter(|pair| pair.first == "preset 1").collect();
        assert_eq!(first.len(), 28);
        for pair in first {
            assert!(!pair.cost.tie && pair.cost.p_holm < Some(0.05), "{pair:?}");
        }
        // Nothing separates what keeps the same.
        assert_eq!(comparison.told_apart(Primary::FrrObsFar).ties, 406);
    }

    #[test]
    fn what_the_test_can_not_resolve_is_counted() {
        let comparison = many(60);
        let apart = comparison.told_apart(Primary::Cost);
        assert!(apart.unresolved >= 59 && apart.ties >= apart.unresolved, "{apart:?}");
        assert_eq!(comparison.told_apart(Primary::FrrObsFar).unresolved, 0);
    }

    #[test]
    fn a_contrast_is_a_ratio_of_bills_and_a_difference_of_shares() {
        let (_, contrast) = run(&PLAIN);
        let close = |value: Option<f64>, expected: f64| {
            assert!(value.is_some_and(|value| (value - expected).abs() < 1e-9), "{value:?}");
        };
        close(contrast.cost.value, 0.5);
        close(contrast.frr_obs_far.value, 0.4);
        assert_eq!(contrast.cost.n, 12);
        assert!(contrast.cost.p_holm >= contrast.cost.p);
    }
}
