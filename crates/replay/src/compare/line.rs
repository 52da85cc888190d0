//! One preset over all sessions.

use super::Score;
use super::dollars::{Dollars, RECORDED_OR_WARM, costs};
use super::gate::Gate;
use super::judges::Judge;
use super::metrics::{self, Metrics};
use super::normalised::{Normalised, normalised};
use super::saving::Saving;
use super::table::Table;
use crate::availability::{self, MustKeep, Retention};
use crate::share::Share;
use crate::study::{Ledger, Summaries};
use crate::totals::SessionMetrics;
use foldback_core::counters::Counters;
use foldback_core::strategy::{Kind, Strategy};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One preset over all sessions. Token counts are by the measuring estimator, those of the counters
/// by the preset's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PresetLine {
    /// Name with the summarizer that stood in, e.g. `opencode+extractive`.
    pub preset: String,
    /// `strategy` or `control`.
    pub kind: Kind,
    /// Who wrote the summaries; `null` where the preset has none.
    pub summarizer: Option<String>,
    /// The preset of the same system that is meant to be used, if this one exists for study.
    pub twin_of: Option<String>,
    /// Rank by the primary metric among strategies that pass the gates, ties sharing one; `null` for
    /// controls and for those that fail.
    pub rank: Option<usize>,
    /// What no provider accepts, and rules it out.
    pub gate: Gate,
    /// Sessions that were replayed.
    pub sessions: usize,
    /// Sessions in which it changed something.
    pub triggered: usize,
    /// Calls.
    pub calls: u64,
    /// Sum of all requests.
    pub input_tokens: u64,
    /// The same as a ratio to no compaction.
    pub input_ratio: f64,
    /// The same ratio over the sessions in which it changed something; `null` if there is none.
    pub triggered_input_ratio: Option<f64>,
    /// The largest request.
    pub peak_tokens: u64,
    /// Tokens of the requests that were over the limits when they were sent.
    pub over_input_tokens: u64,
    /// How often it changed the view.
    pub compactions: u64,
    /// How often its policy said that the view is too large.
    pub overflow_detections: u64,
    /// How often a pruner changed something.
    pub prune_operations: u64,
    /// Content that pruners removed, net of placeholders, by the preset's own estimator.
    pub tokens_reclaimed: u64,
    /// Summaries.
    pub summaries: u64,
    /// Compactions that failed.
    pub failures: u64,
    /// Violations of provider rules that the recordings already had.
    pub inherited_violations: u64,
    /// Share of the input that the simulated prompt cache held, always warm.
    pub cache_hit_rate: f64,
    /// Estimator that the preset decides with.
    pub estimator: String,
    /// Guards of the engine that the preset turns off.
    pub guards_off: Vec<&'static str>,
    /// What it costs and what it forgets, with intervals.
    pub metrics: Metrics,
    /// The only judge of retention by which it is good, 20 points above the other; `null`
    /// if they agree.
    pub good_by_one: Option<Judge>,
    /// What it saves against the base of the comparison; `null` where there is none.
    pub saving: Option<Saving>,
    /// Its bill under the regime that is reported.
    pub dollars: Dollars,
    /// Its bill under every regime.
    pub costs: Vec<Dollars>,
    /// Whether its compactions paid for themselves, under the regime that is reported.
    pub ledger: Ledger,
    /// References of calls by the calls since they were last seen, how many were needed and how many kept: up to 1, 2, 3,
    /// 5, 10, 20 and 50, each from above the one before, then `beyond`.
    #[serde(rename = "by_distance", serialize_with = "availability::steps")]
    #[schemars(with = "BTreeMap<String, Share>")]
    pub retention: Retention,
    /// Where its retention of what only observations said is between chance and foresight.
    pub nfr_obs: Normalised,
    /// User messages that are in the view at the end, word for word; `null` where what was in view is not recorded, as in
    /// the following.
    pub instructions_end: Option<f64>,
    /// Calls after a failure whose view shows the latest one.
    pub last_error: Option<f64>,
    /// Changed files as the view at the end shows them: the harmonic mean of precision and recall, pooled over sessions.
    pub modified_f1: Option<f64>,
    /// Share of the identifiers in summaries that were in the summarized text; the rest is invented.
    pub faithfulness: Option<f64>,
}

pub(super) fn line(strategy: &Strategy, preset: usize, table: &Table<'_>) -> PresetLine {
    let (own, plain): (Vec<&Score>, Vec<&Score>) = table.pairs(preset).unzip();
    let sum = |of: fn(&SessionMetrics) -> u64| own.iter().map(|score| of(&score.metrics)).sum();
    let count = |of: fn(&Counters) -> u64| -> u64 {
        let counters = own.iter().map(|score| &score.metrics.counters);
        counters.map(of).sum()
    };
    let input = |scores: &mut dyn Iterator<Item = &Score>| -> u64 {
        scores.map(|score| score.metrics.input_tokens).sum()
    };
    let acted = || table.pairs(preset).filter(|(score, _)| score.metrics.compactions > 0);
    let triggered = acted().count();
    let base = input(&mut plain.iter().copied());
    let calls: u64 = sum(|metrics| metrics.calls);
    let input_tokens = sum(|metrics| metrics.input_tokens);
    let compactions = sum(|metrics| metrics.compactions);
    let (mut retention, mut ledger) = (Retention::default(), Ledger::default());
    let (mut must_keep, mut summaries) = (MustKeep::default(), Summaries::default());
    for score in &own {
        retention.add(&score.retention);
        must_keep.add(&score.must_keep);
        summaries.add(&score.summaries);
        table.bill(score).into_iter().for_each(|bill| ledger.add(&bill.ledger()));
    }
    // Of what is not known to have been in view, nothing can be said.
    let known = |share: Option<f64>| share.filter(|_| table.knows_contents(preset));
    let costs = costs(table, preset);
    let dollars = costs.iter().find(|dollars| {
        dollars.regime == table.reporting.regime && dollars.pauses == RECORDED_OR_WARM
    });
    let mut line = PresetLine {
        preset: strategy.label(),
        kind: strategy.kind,
        summarizer: strategy
            .filter
            .as_ref()
            .and(strategy.summarizer.as_ref())
            .map(|summarizer| summarizer.id().to_owned()),
        twin_of: strategy.twin_of.clone(),
        rank: None,
        gate: Gate::of(own.iter().copied()),
        sessions: own.len(),
        triggered,
        calls,
        input_tokens,
        input_ratio: ratio(input_tokens, base).unwrap_or(1.0),
        triggered_input_ratio: ratio(
            input(&mut acted().map(|(score, _)| score)),
            input(&mut acted().map(|(_, base)| base)),
        ),
        peak_tokens: own.iter().map(|score| score.metrics.peak_tokens).max().unwrap_or(0),
        over_input_tokens: sum(|metrics| metrics.over_input_tokens),
        compactions,
        overflow_detections: count(|counters| counters.overflow_detections),
        prune_operations: count(|counters| counters.prune_operations),
        tokens_reclaimed: count(|counters| counters.tokens_reclaimed),
        summaries: count(|counters| counters.summaries),
        failures: count(|counters| counters.failures),
        inherited_violations: sum(|metrics| metrics.inherited_violations),
        cache_hit_rate: ratio(sum(|metrics| metrics.cache_read_tokens), input_tokens)
            .unwrap_or(0.0),
        estimator: strategy.estimator().id().to_string(),
        guards_off: strategy.guards.off(),
        metrics: metrics::metrics(table, preset),
        good_by_one: None,
        saving: None,
        dollars: dollars.cloned().unwrap_or_default(),
        ledger,
        retention,
        nfr_obs: normalised(strategy.kind, &own),
        instructions_end: known(must_keep.instructions.value()),
        last_error: known(must_keep.last_error.value()),
        modified_f1: known(must_keep.files.f1()),
        faithfulness: known(summaries.faithful.value()),
        costs,
    };
    line.good_by_one = line.good_by();
    line
}

/// Nothing of nothing is no share.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
