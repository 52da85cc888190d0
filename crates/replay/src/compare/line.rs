//! One preset over all sessions.

use super::difference::{Difference, SampleSize};
use super::dollars::{Dollars, RECORDED_OR_WARM, costs};
use super::figures::{self, FigureInputs, Judge, Metric, Metrics, Sums};
use super::gate::Gate;
use super::saving::Paid;
use super::table::Table;
use crate::judge::retention::{self, Retention};
use crate::rows::study::Score;
use crate::run::totals::SessionMetrics;
use crate::stats::Share;
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
    /// What no provider accepts, and rules it out.
    pub gate: Gate,
    /// Its bill to that of the base, with what was missed read again; `null` for what can't be chosen.
    pub against_base: Option<Difference>,
    /// How many of the unit of the corpus would show a difference to the base; `null` for what can't be chosen, and where there are
    /// too few for a spread.
    pub needed: Option<SampleSize>,
    /// The figure of that: [`Metrics::net_ratio`], or where it is not known for all, [`Metrics::cost_ratio`].
    #[serde(skip)]
    pub ratio: Metric,
    /// The dollars that it saves in a session, by the same.
    #[serde(skip)]
    pub saved: Metric,
    /// Sessions that were replayed.
    pub sessions: usize,
    /// Sessions in which it changed something.
    pub triggered: usize,
    /// Sum of all requests.
    pub input_tokens: u64,
    /// How often it changed the view.
    pub compactions: u64,
    /// How often its policy said that the view is too large.
    #[serde(skip)]
    pub overflow_detections: u64,
    /// How often a pruner changed something.
    pub prune_operations: u64,
    /// Compactions that failed.
    #[serde(skip)]
    pub failures: u64,
    /// Violations of provider rules that the recordings already had.
    #[serde(skip)]
    pub inherited_violations: u64,
    /// Estimator that the preset decides with.
    pub estimator: String,
    /// Guards of the engine that the preset turns off.
    pub guards_off: Vec<&'static str>,
    /// The figures.
    #[schemars(schema_with = "Metrics::schema")]
    pub metrics: Metrics,
    /// The only judge of retention by which it is good, 20 points above the other; `null`
    /// if they agree.
    pub good_by_one: Option<Judge>,
    /// It loses what was just read: it keeps less than 90 % of what the last three calls showed and a call needed.
    pub loses_near: bool,
    /// Its bill under the regime that is reported: the one of `costs` that the figures go by.
    #[serde(skip)]
    pub dollars: Dollars,
    /// Its bill under every regime.
    pub costs: Vec<Dollars>,
    /// References of calls by the calls since they were last seen, how many were needed and how many kept: up to 1, 2, 3,
    /// 5, 10, 20 and 50, each from above the one before, then `beyond`.
    #[serde(rename = "by_distance", serialize_with = "retention::steps")]
    #[schemars(with = "BTreeMap<String, Share>")]
    pub retention: Retention,
}

pub(super) fn line(
    strategy: &Strategy,
    preset: usize,
    table: &Table<'_>,
    paid: Option<Paid>,
) -> PresetLine {
    let own: Vec<&Score> = table.pairs(preset).map(|(score, _)| score).collect();
    let sum = |of: fn(&SessionMetrics) -> u64| own.iter().map(|score| of(&score.metrics)).sum();
    let count = |of: fn(&Counters) -> u64| -> u64 {
        let counters = own.iter().map(|score| &score.metrics.counters);
        counters.map(of).sum()
    };
    let triggered = own.iter().filter(|score| score.metrics.compactions > 0).count();
    let input_tokens = sum(|metrics| metrics.input_tokens);
    let compactions = sum(|metrics| metrics.compactions);
    let sums = Sums::new(&own);
    let costs = costs(table, preset, paid);
    let reported = costs.iter().find(|dollars| {
        dollars.regime == table.reporting.regime && dollars.pauses == RECORDED_OR_WARM
    });
    let dollars = reported.cloned().unwrap_or_default();
    let mut line = PresetLine {
        preset: strategy.label(),
        kind: strategy.kind,
        summarizer: strategy
            .filter
            .as_ref()
            .and(strategy.summarizer.as_ref())
            .map(|summarizer| summarizer.id().to_owned()),
        against_base: None,
        needed: None,
        ratio: Metric::default(),
        saved: Metric::default(),
        gate: Gate::new(own.iter().copied()),
        sessions: own.len(),
        triggered,
        input_tokens,
        compactions,
        overflow_detections: count(|counters| counters.overflow_detections),
        prune_operations: count(|counters| counters.prune_operations),
        failures: count(|counters| counters.failures),
        inherited_violations: sum(|metrics| metrics.inherited_violations),
        estimator: strategy.estimator().id().to_string(),
        guards_off: strategy.guards.off(),
        metrics: figures::metrics(&FigureInputs::new(table, preset, &sums, paid)),
        good_by_one: None,
        loses_near: false,
        dollars,
        retention: sums.retention,
        costs,
    };
    line.good_by_one = line.metrics.good_by();
    line.loses_near = line.metrics.loses_near();
    let Metrics { net_ratio, net_saving_usd, cost_ratio, saving_usd, .. } = &line.metrics;
    let (ratio, saved) =
        if table.netted { (net_ratio, net_saving_usd) } else { (cost_ratio, saving_usd) };
    (line.ratio, line.saved) = (ratio.clone(), saved.clone());
    line
}
