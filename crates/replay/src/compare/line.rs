//! One preset over all sessions.

use super::Score;
use super::detail::{self, HalfLife, Normalised, Position, Pressure, SummaryQuality};
use super::dollars::{Dollars, LedgerLine, RECORDED_OR_WARM, costs, ledger};
use super::gate::Gate;
use super::judges::Judge;
use super::metrics::{self, Metrics};
use super::saving::Saving;
use super::strata::{Stratum, strata};
use super::table::Table;
use crate::availability::{MustKeep, Retention, SetRecall, Share};
use crate::totals::{CallTotals, Dropped};
use foldback_core::counters::Counters;
use foldback_core::strategy::{Kind, Strategy};
use schemars::JsonSchema;
use serde::Serialize;

/// What must be kept and was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct KeepShares {
    /// User messages that are in the view at the end, word for word.
    pub instructions_end: Option<f64>,
    /// The same, each session at its worst call.
    pub instructions_worst: Option<f64>,
    /// Calls after a failure whose view shows the latest.
    pub last_error: Option<f64>,
    /// Calls after a plan whose view shows the latest.
    pub plan: Option<f64>,
    /// Harmonic mean of precision and recall of the files that were read, pooled over sessions.
    pub read_f1: Option<f64>,
    /// Of those that were created.
    pub created_f1: Option<f64>,
    /// Of those that were changed.
    pub modified_f1: Option<f64>,
    /// Changed files whose path is anywhere in the view at the end, summaries included.
    pub modified_mentioned: Option<f64>,
}

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
    /// The gate.
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
    /// The mean request.
    pub mean_tokens: u64,
    /// Requests that the provider would have refused.
    pub overflow_calls: u64,
    /// Tokens of the requests that were over the limits when they were sent.
    pub over_input_tokens: u64,
    /// How often it changed the view.
    pub compactions: u64,
    /// Compactions per hundred calls.
    pub compactions_per_100_calls: f64,
    /// Compactions within three calls of the one before.
    pub thrash: u64,
    /// Share of the view that a compaction removed, over all of them.
    pub removal_ratio: Option<f64>,
    /// How often its policy said that the view is too large.
    pub overflow_detections: u64,
    /// How often a pruner changed something.
    pub prune_operations: u64,
    /// Content that pruners removed, by the preset's own estimator, placeholders not subtracted.
    pub tokens_pruned: u64,
    /// The same, net of placeholders.
    pub tokens_reclaimed: u64,
    /// Summaries.
    pub summaries: u64,
    /// Compactions that failed.
    pub failures: u64,
    /// Mean size of the view before a compaction, by the preset's own estimator.
    pub mean_tokens_before: Option<u64>,
    /// Tokens that left the view, by kind; `null` where what was in view is not recorded.
    pub dropped: Option<Dropped>,
    /// Violations of provider rules that the preset caused.
    pub strategy_violations: u64,
    /// Violations that the recordings already had.
    pub inherited_violations: u64,
    /// Share of the input that the simulated prompt cache held, always warm.
    pub cache_hit_rate: f64,
    /// Tokens that were cached and had to be written again.
    pub churn_tokens: u64,
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
    /// Whether its compactions paid for themselves.
    pub ledger: LedgerLine,
    /// Retention with its strata, over all sessions of which it is known what was in view.
    pub retention: Retention,
    /// Where its retention is between chance and foresight.
    pub nfr: Normalised,
    /// The same of what only observations said.
    pub nfr_obs: Normalised,
    /// What must be kept, and how much of it was.
    pub must_keep: KeepShares,
    /// Size and pressure.
    pub pressure: Pressure,
    /// How long what was seen stays.
    pub half_life: HalfLife,
    /// What its summaries were worth.
    pub summary_quality: SummaryQuality,
    /// The position of needed references.
    pub position: Position,
    /// The headline metrics by length and by recorder.
    pub strata: Vec<Stratum>,
}

pub(super) fn line(strategy: &Strategy, preset: usize, table: &Table<'_>) -> PresetLine {
    let (own, plain): (Vec<&Score>, Vec<&Score>) = table.pairs(preset).unzip();
    let sum = |of: fn(&CallTotals) -> u64| own.iter().map(|score| of(&score.metrics)).sum();
    let count = |of: fn(&Counters) -> u64| -> u64 {
        let counters = own.iter().map(|score| &score.effects.counters);
        counters.map(of).sum()
    };
    let input = |scores: &mut dyn Iterator<Item = &Score>| -> u64 {
        scores.map(|score| score.metrics.input_tokens).sum()
    };
    let acted = || table.pairs(preset).filter(|(score, _)| score.metrics.compactions > 0);
    let triggered = acted().count();
    let base = input(&mut plain.iter().copied());
    // Of what is not known to have been in view, nothing can be said.
    let contents = table.knows_contents(preset);
    let seen: &[&Score] = if contents { &own } else { &[] };
    let calls: u64 = sum(|metrics| metrics.calls);
    let input_tokens = sum(|metrics| metrics.input_tokens);
    let compactions = sum(|metrics| metrics.compactions);
    let mut dropped = Dropped::default();
    let mut retention = Retention::default();
    for score in &own {
        dropped.take(&score.effects.dropped);
        retention.add(&score.exam.references);
    }
    let costs = costs(table, preset);
    let dollars = costs.iter().find(|dollars| {
        dollars.regime == table.reporting.regime && dollars.pauses == RECORDED_OR_WARM
    });
    let events = count(|counters| counters.folds + counters.prune_operations);
    let firings = detail::firings(&own);
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
        mean_tokens: input_tokens.checked_div(calls).unwrap_or(0),
        overflow_calls: sum(|metrics| metrics.overflow_calls),
        over_input_tokens: sum(|metrics| metrics.over_input_tokens),
        compactions,
        compactions_per_100_calls: ratio(100 * compactions, calls).unwrap_or(0.0),
        thrash: sum(|metrics| metrics.thrash),
        removal_ratio: ratio(firings.reclaimed, firings.before),
        overflow_detections: count(|counters| counters.overflow_detections),
        prune_operations: count(|counters| counters.prune_operations),
        tokens_pruned: count(|counters| counters.tokens_pruned),
        tokens_reclaimed: count(|counters| counters.tokens_reclaimed),
        summaries: count(|counters| counters.summaries),
        failures: count(|counters| counters.failures),
        mean_tokens_before: count(|counters| counters.tokens_before_total).checked_div(events),
        dropped: contents.then_some(dropped),
        strategy_violations: sum(|metrics| metrics.strategy_violations),
        inherited_violations: sum(|metrics| metrics.inherited_violations),
        cache_hit_rate: ratio(sum(|metrics| metrics.cache_read_tokens), input_tokens)
            .unwrap_or(0.0),
        churn_tokens: sum(|metrics| metrics.churn_tokens),
        estimator: strategy.estimator().id().to_string(),
        guards_off: strategy.guards.off(),
        metrics: metrics::metrics(table, preset),
        good_by_one: None,
        saving: None,
        dollars: dollars.cloned().unwrap_or_default(),
        ledger: ledger(table, &own),
        retention,
        nfr: detail::normalised(
            strategy.kind,
            &own,
            |score| score.exam.references.frr,
            |kept| kept.frr,
        ),
        nfr_obs: detail::normalised(
            strategy.kind,
            &own,
            |score| score.exam.references.frr_obs,
            |kept| kept.frr_obs,
        ),
        must_keep: must_keep(seen),
        pressure: detail::pressure(&own, &plain),
        half_life: detail::half_life(seen),
        summary_quality: detail::summaries(seen),
        position: detail::position(seen),
        strata: strata(table, preset),
        costs,
    };
    line.good_by_one = line.good_by();
    line
}

/// Nothing of nothing is no share.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn must_keep(own: &[&Score]) -> KeepShares {
    let share = |of: fn(&MustKeep) -> Share| {
        let mut sum = Share::default();
        for score in own {
            sum.add(of(&score.must_keep));
        }
        sum.value()
    };
    let files = |of: fn(&MustKeep) -> SetRecall| {
        let mut sum = SetRecall::default();
        for score in own {
            let more = of(&score.must_keep);
            sum.truth += more.truth;
            sum.found += more.found;
            sum.correct += more.correct;
            sum.mentioned += more.mentioned;
        }
        sum
    };
    let modified = files(|keep| keep.trail.modified);
    KeepShares {
        instructions_end: share(|keep| keep.instructions_end),
        instructions_worst: share(|keep| keep.instructions_worst),
        last_error: share(|keep| keep.last_error),
        plan: share(|keep| keep.plan),
        read_f1: files(|keep| keep.trail.read).f1(),
        created_f1: files(|keep| keep.trail.created).f1(),
        modified_f1: modified.f1(),
        modified_mentioned: ratio(modified.mentioned, modified.truth),
    }
}
