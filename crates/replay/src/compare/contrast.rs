//! Pairs of strategies, and every strategy against the base: how far apart they are, and how sure that is.

use super::difference::{ALPHA, Difference, SampleSize};
use super::line::PresetLine;
use super::saving::Paid;
use super::table::Table;
use crate::judge::reread::CHANCE;
use crate::parallel::in_parallel;
use crate::run::setup::Preset;
use crate::stats::Share;
use crate::stats::{self, Pair};
use foldback_core::strategy::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// Two strategies.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Contrast {
    /// Name of the one.
    pub first: String,
    /// Name of the other.
    pub second: String,
    /// Ratio of their bills with what was missed read again, or of the bills where that is not known.
    pub net: Difference,
    /// Difference of their retention of what only observations said, and not recently.
    pub frr_obs_far: Difference,
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
            net: self.net.turned(f64::recip),
            frr_obs_far: self.frr_obs_far.turned(|value| -value),
        })
    }
}

/// All pairs of strategies that are not controls.
pub(super) fn contrasts(
    table: &Table<'_>,
    presets: &[Preset],
    lines: &[PresetLine],
) -> Vec<Contrast> {
    let strategies = (0..presets.len()).filter(|at| presets[*at].strategy.kind == Kind::Strategy);
    let strategies: Vec<usize> = strategies.collect();
    let behind = |at: usize| strategies[at + 1..].iter().map(move |second| (at, *second));
    let pairs: Vec<_> = (0..strategies.len()).flat_map(behind).collect();
    let contrast = |(at, second): &(usize, _)| contrast(table, lines, strategies[*at], *second);
    let mut contrasts = in_parallel(&pairs, contrast);
    adjust(contrasts.iter_mut().map(|contrast| (&mut contrast.net, &mut contrast.frr_obs_far)));
    contrasts
}

/// Gives every strategy that can be chosen its difference to the base, adjusted over all of them.
pub(super) fn against_base(table: &Table<'_>, paid: Option<Paid>, lines: &mut [PresetLine]) {
    let Some(paid) = paid else { return };
    let choices = lines.iter().filter(|line| line.is_choice()).count();
    for (at, line) in lines.iter_mut().enumerate().filter(|(_, line)| line.is_choice()) {
        let nets = || paid.nets(table, at, CHANCE.value).unwrap_or_default();
        let bills = || paid.pairs(table, at).collect();
        let pairs: Vec<Pair> = if table.netted { nets() } else { bills() };
        let estimate = stats::tested_ratio_of_totals(&table.sample, &pairs);
        line.needed = SampleSize::by_spread(&estimate, choices);
        line.against_base = Some(Difference::new(estimate));
    }
    let family = lines.iter_mut().filter_map(|line| line.against_base.as_mut());
    holm(&mut family.collect::<Vec<_>>());
}

fn contrast(table: &Table<'_>, lines: &[PresetLine], first: usize, second: usize) -> Contrast {
    Contrast {
        first: lines[first].preset.clone(),
        second: lines[second].preset.clone(),
        net: net(table, first, second),
        frr_obs_far: retention(table, first, second),
    }
}

/// How the bills of two strategies differ, session by session.
fn net(table: &Table<'_>, first: usize, second: usize) -> Difference {
    let both = table.column(first).zip(table.column(second)).filter_map(|(a, b)| {
        let usd = |score| table.spent(table.bill(score)?);
        Some(Pair { cluster: table.cluster(a), value: usd(a)?, base: usd(b)? })
    });
    let pairs = both.collect::<Vec<_>>();
    Difference::new(stats::tested_ratio_of_totals(&table.sample, &pairs))
}

fn retention(table: &Table<'_>, first: usize, second: usize) -> Difference {
    if ![first, second].iter().all(|preset| table.knows_contents(*preset)) {
        return Difference { tie: true, ..Difference::default() };
    }
    // Both were given the same exam, so what the one was asked the other was asked too.
    let both = table.column(first).zip(table.column(second));
    let asked: Vec<(usize, [Share; 2])> = both
        .map(|(a, b)| (table.cluster(a), [a.retention.obs_far, b.retention.obs_far]))
        .filter(|(_, shares)| shares.iter().all(|share| share.needed > 0))
        .collect();
    Difference::new(stats::proportion_difference(&table.sample, &asked))
}

/// Holm over the bills of these pairs, and over their shares: two questions, each a family. Says what is a tie by it.
/// Differences that were adjusted in a larger family are judged again.
pub(crate) fn adjust<'d>(pairs: impl Iterator<Item = (&'d mut Difference, &'d mut Difference)>) {
    let (mut bills, mut shares): (Vec<_>, Vec<_>) = pairs.unzip();
    holm(&mut bills);
    holm(&mut shares);
}

/// Holm over a family of differences. Says what is a tie by it.
pub(crate) fn holm(family: &mut [&mut Difference]) {
    let p = family.iter().map(|difference| difference.p.unwrap_or(f64::NAN));
    let p: Vec<f64> = p.collect();
    for (difference, adjusted) in family.iter_mut().zip(stats::holm(&p)) {
        difference.p_holm = difference.p.map(|_| adjusted);
        difference.tie = difference.p_holm.is_none_or(|p| p > ALPHA);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acted::preset;
    use crate::compare::{Gate, Reporting};
    use crate::judge::retention::Retention;
    use crate::rows::study::{Bill, Billed, Pauses};
    use crate::rows::study::{Outcome, Score};
    use crate::stats::Sample;

    /// Bills of `first` and `second` per session, in dollars, and what the first keeps of ten.
    struct Case {
        sessions: usize,
        usd: [f64; 2],
        kept: u64,
        gate: bool,
    }

    const PLAIN: Case = Case { sessions: 12, usd: [0.5, 1.0], kept: 9, gate: true };

    fn score(session: usize, preset: usize, usd: f64, kept: u64) -> Score {
        // No two sessions are alike.
        let usd = usd * (1.0 + session as f64 / 100.0);
        let by = Billed { regime: crate::judge::cost::OWN.into(), pauses: Pauses::Recorded };
        let outcome = Outcome {
            retention: Retention { obs_far: Share { kept, needed: 10 }, ..Retention::default() },
            bills: [(by, Bill::of_requests(usd, 0.0))].into_iter().collect(),
            ..Outcome::default()
        };
        Score::new(session, preset, outcome)
    }

    fn line(preset: &str, passed: bool) -> PresetLine {
        PresetLine {
            preset: preset.to_owned(),
            gate: Gate { passed, ..Gate::default() },
            triggered: 1,
            ..PresetLine::default()
        }
    }

    fn table<'t>(
        scores: &'t [Box<[Score]>],
        numbers: &'t [usize],
        reporting: &'t Reporting,
    ) -> Table<'t> {
        Table {
            clusters: numbers,
            scores,
            baseline: 0,
            counted: &[],
            narrowed: false,
            netted: true,
            reporting,
            sample: Sample::new(reporting.seed),
        }
    }

    /// The contrast, and how the first differs from the base.
    fn run(case: &Case) -> (Contrast, Option<Difference>) {
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
        let reporting = Reporting::default();
        let numbers: Vec<usize> = (0..case.sessions).collect();
        let table = table(&scores, &numbers, &reporting);
        let mut lines =
            vec![line("none", true), line("tunacode", case.gate), line("opencode", true)];
        lines[0].kind = Kind::Control;
        let mut contrasts = contrasts(&table, &presets, &lines);
        against_base(&table, Paid::new(&table, &presets, false), &mut lines);
        let against_base = lines[1].against_base.clone();
        (contrasts.remove(0), against_base)
    }

    #[test]
    fn bills_tie_where_too_few_clusters_or_no_difference_are_there() {
        let table = [
            ("cheaper", PLAIN, false),
            ("dearer", Case { usd: [1.5, 1.0], ..PLAIN }, false),
            ("alike", Case { usd: [1.0, 1.0], ..PLAIN }, true),
            // The least p-value of five clusters is 2/32.
            ("five tasks", Case { sessions: 5, ..PLAIN }, true),
            ("six tasks", Case { sessions: 6, ..PLAIN }, false),
        ];
        for (name, case, ties) in table {
            let (contrast, _) = run(&case);
            assert_eq!(contrast.net.tie, ties, "{name}: {contrast:?}");
        }
    }

    #[test]
    fn what_can_be_chosen_is_held_against_the_base() {
        let (_, plain) = run(&PLAIN);
        let plain = plain.unwrap();
        assert!(plain.saves() && plain.value.is_some_and(|ratio| (ratio - 0.25).abs() < 1e-9));
        // Two presets are in the family.
        assert_eq!(plain.p_holm, plain.p.map(|p| p * 2.0));
        let table = [
            ("dearer", Case { usd: [2.5, 1.0], ..PLAIN }, Some(false)),
            // The least one-sided p-value of three clusters, for two presets, is 2/8.
            ("too few", Case { sessions: 3, ..PLAIN }, Some(false)),
            ("refused", Case { gate: false, ..PLAIN }, None),
        ];
        for (name, case, saves) in table {
            let (_, against_base) = run(&case);
            assert_eq!(against_base.map(|difference| difference.saves()), saves, "{name}");
        }
    }

    /// What the presets of a comparison have in common adds nothing to the family, and Holm leaves the rest.
    #[test]
    fn pairs_are_one_family() {
        let strategies = 8;
        let presets: Vec<Preset> =
            (0..=strategies).map(|at| preset(if at == 0 { "none" } else { "tunacode" })).collect();
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
            (0..=strategies).map(|at| line(&format!("preset {at}"), true)).collect();
        let reporting = Reporting::default();
        let numbers: Vec<usize> = (0..12).collect();
        let table = table(&scores, &numbers, &reporting);
        let contrasts = contrasts(&table, &presets, &lines);
        assert_eq!(contrasts.len(), 28);
        let (first, others): (Vec<_>, Vec<_>) =
            contrasts.iter().partition(|pair| pair.first == "preset 1");
        assert_eq!(first.len(), 7);
        for pair in first {
            // Of 4,096 ways two are as large.
            assert!(!pair.net.tie && pair.net.p == Some(2.0 / 4_096.0), "{pair:?}");
        }
        assert!(others.iter().all(|pair| pair.net.p_holm >= pair.net.p));
        // Nothing separates what keeps the same.
        assert!(contrasts.iter().all(|pair| pair.frr_obs_far.tie));
    }

    #[test]
    fn a_contrast_is_a_ratio_of_bills_and_a_difference_of_shares() {
        let (contrast, _) = run(&PLAIN);
        let close = |value: Option<f64>, expected: f64| {
            assert!(value.is_some_and(|value| (value - expected).abs() < 1e-9), "{value:?}");
        };
        close(contrast.net.value, 0.5);
        close(contrast.frr_obs_far.value, 0.4);
        assert_eq!(contrast.net.n, 12);
        let turned = contrast.between("opencode", "tunacode").unwrap();
        close(turned.net.value, 2.0);
        close(turned.frr_obs_far.value, -0.4);
    }
}
