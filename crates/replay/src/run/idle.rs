//! Reports of stages without an effect: what failed, and why nothing fired.

use crate::run::drive::Replay;
use foldback_core::conversation::{Report, StageRole};
use foldback_core::outcome::Outcome;
use std::collections::BTreeMap;

/// Why a preset did nothing that has nothing to do it with.
pub(crate) const NO_STAGE: &str = "it has no stage that folds";

/// What stages could not do, by stage, each with the last reason that it gave.
pub(crate) fn failures(replay: &Replay) -> Vec<String> {
    let mut last: BTreeMap<&str, (u64, &Report)> = BTreeMap::new();
    for (_, report) in &replay.reports {
        if matches!(report.outcome, Outcome::Failed(_)) {
            let entry = last.entry(&report.stage).or_insert((0, report));
            *entry = (entry.0 + 1, report);
        }
    }
    last.into_values()
        .map(|(times, report)| match times {
            1 => format!("{} failed: {}", report.stage, why(report)),
            _ => format!("{} failed {times} times: {}", report.stage, why(report)),
        })
        .collect()
}

/// Why nothing fired: what each stage that ran, pruners first, said when it came nearest to doing something; the
/// latest of what is equally near.
pub(crate) fn reasons(replay: &Replay) -> Vec<String> {
    let strategy = replay.conversation.strategy();
    if strategy.overflow.is_none() && strategy.pruners.is_empty() {
        return vec![NO_STAGE.to_owned()];
    }
    let mut nearest: BTreeMap<(bool, &str), &Report> = BTreeMap::new();
    for (_, report) in &replay.reports {
        let stage = (report.role != StageRole::Pruner, report.stage.as_str());
        let best = nearest.entry(stage).or_insert(report);
        if nearness(report) >= nearness(best) {
            *best = report;
        }
    }
    if nearest.is_empty() {
        return vec!["none of its moments occurred".to_owned()];
    }
    nearest.into_values().map(|report| format!("{}: {}", report.stage, why(report))).collect()
}

/// How near a policy was to folding, in parts per million of its trigger.
pub(crate) fn nearness(report: &Report) -> u64 {
    let decision = report.decision.as_ref();
    decision.map_or(0, |decision| {
        decision.count.saturating_mul(1_000_000).checked_div(decision.trigger).unwrap_or(0)
    })
}

fn why(report: &Report) -> String {
    match (report.outcome.why(), &report.decision) {
        (Some(why), _) => why.to_string(),
        (None, Some(decision)) => decision.reason.clone(),
        (None, None) => report.outcome.name().to_owned(),
    }
}
