//! What a preset's line says beyond the headline: pressure, half-life, summaries, position, and where
//! its retention is between chance and foresight. Values over all sessions, without intervals.

use super::Score;
use crate::availability::Share;
use crate::controls::nfr;
use crate::index::Speaker;
use crate::measures::firings::FiringTotals;
use crate::measures::position::{BINS, Positions};
use crate::measures::size::Sizes;
use crate::measures::summaries::SummaryTotals;
use crate::measures::survival::Lifetimes;
use crate::study::Shadow;
use foldback_core::strategy::Kind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Size and pressure. Tokens are by the measuring estimator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Pressure {
    /// Median over sessions of the 95th percentile of a session's requests.
    pub p95_tokens: Option<u64>,
    /// By threshold in tokens, the share of the requests above it.
    pub exposure: BTreeMap<u64, f64>,
    /// Share of the requests above four fifths of the window.
    pub above_80_percent: Option<f64>,
    /// MEM1 dependency: `Σ (C_t + o_t/2)·o_t`, the area of attention computed while decoding.
    pub dependency: f64,
    /// The same to that of no compaction.
    pub dependency_ratio: Option<f64>,
    /// Median of the calls between two compactions.
    pub median_calls_between: Option<f64>,
    /// The least.
    pub least_calls_between: Option<u64>,
}

/// How long what was seen stays in the view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HalfLife {
    /// Median of the Kaplan–Meier curve over all identifiers, in calls; `null` where more than half of
    /// them never left.
    pub calls: Option<u64>,
    /// The same by who said the identifier first: `tool`, `user`, `assistant`.
    pub by_source: BTreeMap<Speaker, Option<u64>>,
    /// Identifiers that the curve is made of.
    pub identifiers: u64,
}

/// What summaries were worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SummaryQuality {
    /// Messages with summaries.
    pub n: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Share of the identifiers in summaries that were in the summarized text; the rest is invented.
    pub faithfulness: Option<f64>,
    /// Share of the identifiers that later calls referred to that the summaries had.
    pub recall: Option<f64>,
    /// Share of the identifiers removed by compactions that the view still had.
    pub identifier_recall: Option<f64>,
    /// Sessions with at least two summaries one after the other.
    pub repeated: u64,
    /// Mean over those of how much each further compaction loses of the first span: the slope of the share
    /// that survives.
    pub drift: Option<f64>,
}

/// The position of needed references in the view, nearest occurrence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Position {
    /// Needed references by tenth of the view, from its start.
    pub tenths: [u64; BINS],
    /// Share in the middle, from a fifth to four fifths.
    pub middle: Option<f64>,
    /// The same of references last seen more than three calls ago.
    pub far_middle: Option<f64>,
}

/// A retention between chance (0) and greedy foresight (1) at the sizes of the preset's own views, over
/// the sessions in which it changed something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Normalised {
    /// `(FRR − FRR_random) / (FRR_clairvoyant − FRR_random)`; `null` if that is meaningless.
    pub value: Option<f64>,
    /// The preset's retention there.
    pub own: Option<f64>,
    /// That of a random eviction at the same sizes.
    pub random: Option<f64>,
    /// That of a clairvoyant one.
    pub clairvoyant: Option<f64>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

pub(super) fn pressure(own: &[&Score], base: &[&Score]) -> Pressure {
    let merge = |scores: &[&Score]| {
        let mut sum = Sizes::default();
        for score in scores {
            sum.merge(&score.measures.size);
        }
        sum
    };
    let (sizes, plain) = (merge(own), merge(base));
    let mut p95: Vec<u64> = own.iter().filter_map(|score| score.measures.p95).collect();
    p95.sort_unstable();
    Pressure {
        p95_tokens: p95.get(p95.len() / 2).copied(),
        exposure: sizes.exposure().into_iter().collect(),
        above_80_percent: sizes.exposure_ceiling(),
        dependency: sizes.dependency,
        dependency_ratio: (plain.dependency > 0.0).then(|| sizes.dependency / plain.dependency),
        median_calls_between: sizes.median_gap(),
        least_calls_between: sizes.least_gap(),
    }
}

pub(super) fn half_life(own: &[&Score]) -> HalfLife {
    let mut by_source: BTreeMap<Speaker, Lifetimes> = BTreeMap::new();
    for score in own {
        score.measures.survival.add_to(&mut by_source);
    }
    let mut all = Lifetimes::default();
    by_source.values().for_each(|lives| all.merge(lives));
    HalfLife {
        calls: all.half_life(),
        by_source: by_source.iter().map(|(source, lives)| (*source, lives.half_life())).collect(),
        identifiers: all.count(),
    }
}

pub(super) fn summaries(own: &[&Score]) -> SummaryQuality {
    let all = || own.iter().map(|score| &score.effects.summaries);
    let sum = |of: fn(&SummaryTotals) -> u64| all().map(of).sum();
    let share = |kept: u64, needed: u64| Share { kept, needed }.value();
    let firings = firings(own);
    let slopes: Vec<f64> = all().filter_map(|summaries| summaries.slope).collect();
    SummaryQuality {
        n: sum(|summaries| summaries.count),
        tokens: sum(|summaries| summaries.tokens),
        faithfulness: share(
            sum(|summaries| summaries.supported),
            sum(|summaries| summaries.identifiers),
        ),
        recall: share(sum(|summaries| summaries.kept), sum(|summaries| summaries.needed)),
        identifier_recall: share(firings.still_there, firings.dropped),
        repeated: slopes.len() as u64,
        drift: (!slopes.is_empty()).then(|| slopes.iter().sum::<f64>() / slopes.len() as f64),
    }
}

/// Over all sessions.
pub(super) fn firings<'a>(own: impl IntoIterator<Item = &'a &'a Score>) -> FiringTotals {
    let mut totals = FiringTotals::default();
    own.into_iter().for_each(|score| totals.add(&score.effects.firings));
    totals
}

pub(super) fn position(own: &[&Score]) -> Position {
    let mut positions = Positions::default();
    for score in own {
        positions.merge(&score.measures.positions);
    }
    Position {
        tenths: positions.all.0,
        middle: positions.all.middle(),
        far_middle: positions.far.middle(),
    }
}

/// Normalizes one retention: `own` is the preset's, `of` that of a shadow. Controls have none: they are the
/// reference, at sizes of their own.
pub(super) fn normalised(
    kind: Kind,
    scores: &[&Score],
    own: fn(&Score) -> Share,
    of: fn(&Shadow) -> Share,
) -> Normalised {
    if kind == Kind::Control {
        let why = Some("controls are the reference for others".to_owned());
        return Normalised { why, ..Normalised::default() };
    }
    let acted = || scores.iter().filter(|score| score.metrics.compactions > 0);
    let pool = |part: &dyn Fn(&Score) -> Share| {
        let mut sum = Share::default();
        for score in acted() {
            sum.add(part(score));
        }
        sum.value()
    };
    let own = pool(&own);
    let random = pool(&|score| of(&score.effects.random));
    let clairvoyant = pool(&|score| of(&score.effects.clairvoyant));
    let (value, why) = match (own, random, clairvoyant) {
        (Some(own), Some(random), Some(clairvoyant)) => match nfr(own, random, clairvoyant) {
            Ok(value) => (Some(value), None),
            Err(not_binding) => (None, Some(not_binding.to_string())),
        },
        _ => (None, Some("the preset changed nothing, or nothing was needed".to_owned())),
    };
    Normalised { value, own, random, clairvoyant, why }
}
