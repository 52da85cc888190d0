//! Pairs of strategies: how far apart they are, how sure that is, and which of two is cheaper.

use super::table::{Primary, Table};
use super::{Preset, PresetLine};
use crate::cost::{self, Bounds, Verdict};
use crate::stats::{self, Estimate, Pair, Share};
use foldback_core::strategy::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// A paired difference over sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Ratio of bills first to second, or difference of shares first less second; `null` where
    /// neither applies.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Two-sided p-value of the paired cluster bootstrap, at least 2/(draws + 1).
    pub p: Option<f64>,
    /// The same after Holm's adjustment over all pairs of strategies and both metrics; `null` for pairs
    /// with a control, which are exploratory.
    pub p_holm: Option<f64>,
    /// Wilcoxon signed-rank p-value over sessions, as a check that looks at no totals.
    pub wilcoxon_p: Option<f64>,
    /// Hodges–Lehmann shift: of the log ratio of bills, or of the share.
    pub shift: Option<f64>,
    /// The least difference that 80 % of such comparisons would find: of the log ratio, or of the share.
    pub detectable: Option<f64>,
    /// Sessions.
    pub n: usize,
    /// Not ranked: the interval and the adjusted test do not both tell the two apart, or there are fewer
    /// than ten clusters to draw from.
    pub tie: bool,
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
    /// Difference of their retention of what only observations said.
    pub frr_obs: Difference,
    /// By the bounds of the forgetting cost.
    pub cheaper: Cheaper,
}

/// With fewer clusters the draws are too few and too alike for an interval to hold what it promises
/// (Cameron, Gelbach and Miller, "Bootstrap-Based Improvements for Inference with Clustered Errors", 2008).
pub(super) const LEAST_CLUSTERS: usize = 10;

/// All pairs of strategies that are no controls.
pub(super) fn contrasts(
    table: &Table<'_>,
    presets: &[Preset],
    lines: &[PresetLine],
) -> Vec<Contrast> {
    let strategies = of_kind(presets, Kind::Strategy);
    let mut contrasts = Vec::new();
    for (at, first) in strategies.iter().enumerate() {
        for second in &strategies[at + 1..] {
            contrasts.push(contrast(table, lines, *first, *second));
        }
    }
    adjust(&mut contrasts);
    contrasts
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
    let pairs = strategies
        .iter()
        .flat_map(|strategy| controls.iter().map(move |control| (*strategy, *control)));
    pairs
        .map(|(strategy, control)| contrast(table, lines, strategy, control))
        .collect()
}

fn of_kind(presets: &[Preset], kind: Kind) -> Vec<usize> {
    (0..presets.len())
        .filter(|at| presets[*at].strategy.kind == kind)
        .collect()
}

fn contrast(table: &Table<'_>, lines: &[PresetLine], first: usize, second: usize) -> Contrast {
    Contrast {
        first: lines[first].preset.clone(),
        second: lines[second].preset.clone(),
        cost: cost_of(table, first, second),
        frr_obs: retention(table, first, second),
        cheaper: cheaper(&lines[first], &lines[second]),
    }
}

fn cost_of(table: &Table<'_>, first: usize, second: usize) -> Difference {
    let bootstrap = table.reporting.bootstrap();
    let pairs: Vec<Pair<'_>> = table
        .of(first)
        .zip(table.of(second))
        .filter_map(|(a, b)| {
            Some(Pair {
                cluster: table.cluster(a),
                value: table.bill(a)?.usd,
                base: table.bill(b)?.usd,
            })
        })
        .collect();
    let estimate = stats::ratio_of_totals(&bootstrap, &pairs);
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|pair| pair.value > 0.0 && pair.base > 0.0)
        .map(|pair| (pair.value / pair.base).ln())
        .collect();
    // Of the log, to first order: se / value.
    let scale = estimate.value.filter(|value| *value > 0.0).map(f64::recip);
    difference(estimate, &logs, scale, 1.0)
}

fn retention(table: &Table<'_>, first: usize, second: usize) -> Difference {
    let bootstrap = table.reporting.bootstrap();
    let share = |score: &super::Score| {
        let share = score.exam.references.frr_obs;
        Share {
            cluster: table.cluster(score),
            kept: share.kept,
            needed: share.needed,
        }
    };
    // Both were given the same exam, so what the one was asked the other was asked too.
    let asked: Vec<_> = table
        .of(first)
        .zip(table.of(second))
        .map(|(a, b)| (share(a), share(b)))
        .filter(|(a, b)| a.needed > 0 && b.needed > 0)
        .collect();
    let (a, b): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    let shifts: Vec<f64> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| a.kept as f64 / a.needed as f64 - b.kept as f64 / b.needed as f64)
        .collect();
    match stats::proportion_difference(&bootstrap, &a, &b) {
        Some(estimate) => difference(estimate, &shifts, Some(1.0), 0.0),
        None => Difference::default(),
    }
}

fn difference(estimate: Estimate, shifts: &[f64], scale: Option<f64>, null: f64) -> Difference {
    let signed = stats::signed_rank(shifts);
    // Sessions that are all alike differ by nothing, and there is nothing to draw.
    let alike = shifts.iter().all(|shift| *shift == 0.0);
    Difference {
        value: estimate.value,
        lo: estimate.lo,
        hi: estimate.hi,
        p: if alike { Some(1.0) } else { estimate.p },
        p_holm: None,
        wilcoxon_p: signed.map(|signed| signed.p),
        shift: stats::hodges_lehmann(shifts),
        detectable: estimate
            .se
            .zip(scale)
            .map(|(se, scale)| stats::minimum_detectable(se * scale, 0.95, 0.8)),
        n: estimate.n,
        tie: alike || estimate.clusters < LEAST_CLUSTERS || estimate.is_tie(null),
    }
}

/// Holm over one family: all pairs, both metrics.
fn adjust(contrasts: &mut [Contrast]) {
    let p: Vec<f64> = contrasts
        .iter()
        .flat_map(|contrast| [&contrast.cost, &contrast.frr_obs])
        .map(|difference| difference.p.unwrap_or(f64::NAN))
        .collect();
    let adjusted = stats::holm(&p);
    let differences = contrasts
        .iter_mut()
        .flat_map(|contrast| [&mut contrast.cost, &mut contrast.frr_obs]);
    for (difference, adjusted) in differences.zip(adjusted) {
        difference.p_holm = difference.p.map(|_| adjusted);
        difference.tie |= difference.p_holm.is_none_or(|p| p > 0.05);
    }
}

fn cheaper(first: &PresetLine, second: &PresetLine) -> Cheaper {
    let bounds = |line: &PresetLine| Bounds {
        optimistic: line.dollars.usd,
        pessimistic: line.dollars.pessimistic_usd,
        rereads: 0,
    };
    match cost::compare(&bounds(first), &bounds(second)) {
        Verdict::First => Cheaper::First,
        Verdict::Second => Cheaper::Second,
        Verdict::Depends => Cheaper::Depends,
    }
}

/// Gives every strategy that passes the gates its rank by the primary metric: one more than the number
/// of such strategies that are better, ties not counted. Differences below the margin are ties.
pub(super) fn rank(table: &Table<'_>, lines: &mut [PresetLine], contrasts: &[Contrast]) {
    let ranked = |line: &PresetLine| line.kind == Kind::Strategy && line.gate.passed;
    let names: Vec<String> = lines
        .iter()
        .filter(|line| ranked(line))
        .map(|line| line.preset.clone())
        .collect();
    for line in lines.iter_mut().filter(|line| ranked(line)) {
        let better = names
            .iter()
            .filter(|other| beats(table, contrasts, other, &line.preset))
            .count();
        line.rank = Some(better + 1);
    }
}

/// Whether `a` is better than `b` by the primary metric.
fn beats(table: &Table<'_>, contrasts: &[Contrast], a: &str, b: &str) -> bool {
    contrasts.iter().any(|contrast| {
        let (forward, backward) = (
            contrast.first == a && contrast.second == b,
            contrast.first == b && contrast.second == a,
        );
        let (difference, sign) = match table.reporting.primary {
            // Cheaper is better; the null of a ratio is one.
            Primary::Cost => (&contrast.cost, contrast.cost.value.map(|value| 1.0 - value)),
            Primary::FrrObs => (&contrast.frr_obs, contrast.frr_obs.value),
        };
        let Some(ahead) = sign.filter(|by| !difference.tie && by.abs() > table.reporting.margin)
        else {
            return false;
        };
        (forward && ahead > 0.0) || (backward && ahead < 0.0)
    })
}
