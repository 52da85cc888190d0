//! What the stages reported: what fired, what failed, and why nothing did.

use super::Firing;
use crate::drive::Replay;
use foldback_core::conversation::{Report, StageRole};
use foldback_core::outcome::Outcome;
use std::collections::BTreeMap;

/// Everything that changed the view, in order.
pub(super) fn firings(replay: &Replay) -> Vec<Firing> {
    let folds = replay.conversation.folds();
    let fired = replay.reports.iter().filter_map(|(call, report)| {
        let id = report.fold?;
        let plan = folds
            .iter()
            .find(|fold| fold.id == id)
            .map(|fold| &fold.plan);
        let decision = report.decision.as_ref().map(|decision| &decision.reason);
        let reasons = plan.into_iter().flat_map(|plan| &plan.reasons);
        let mut reason: Vec<&str> = Vec::new();
        for text in decision.into_iter().chain(reasons) {
            if !text.is_empty() && !reason.contains(&text.as_str()) {
                reason.push(text);
            }
        }
        Some(Firing {
            call: *call,
            moment: report.moment,
            stage: report.stage.clone(),
            fold: report.role != StageRole::Pruner,
            reason: reason.join("; "),
            degraded: match &report.outcome {
                Outcome::Degraded(why) => Some(why.to_string()),
                _ => None,
            },
            own_before: report.tokens_before,
            own_after: report.tokens_after,
        })
    });
    fired.collect()
}

/// What stages could not do, by stage, each with the last reason that it gave.
pub(super) fn failures(replay: &Replay) -> Vec<String> {
    let mut last: BTreeMap<&str, (u64, &Report)> = BTreeMap::new();
    for (_, report) in &replay.reports {
        if matches!(report.outcome, Outcome::Failed(_)) {
            let entry = last.entry(&report.stage).or_insert((0, report));
            *entry = (entry.0 + 1, report);
        }
    }
    last.into_values()
        .map(|(times, report)| format!("{} failed {times} times: {}", report.stage, why(report)))
        .collect()
}

/// Why nothing fired: of each stage that ran what it said when it came nearest.
pub(super) fn idle(replay: &Replay) -> Vec<String> {
    let strategy = replay.conversation.strategy();
    if strategy.overflow.is_none() && strategy.pruners.is_empty() {
        return vec!["it has no stage that folds".to_owned()];
    }
    let mut nearest: BTreeMap<&str, &Report> = BTreeMap::new();
    for (_, report) in &replay.reports {
        let best = nearest.entry(&report.stage).or_insert(report);
        if nearness(report) >= nearness(best) {
            *best = report;
        }
    }
    if nearest.is_empty() {
        return vec!["none of its moments came".to_owned()];
    }
    nearest
        .into_values()
        .map(|report| format!("{}: {}", report.stage, why(report)))
        .collect()
}

/// How near a policy came to folding, in parts per million of its trigger.
fn nearness(report: &Report) -> u64 {
    let decision = report.decision.as_ref();
    decision.map_or(0, |decision| {
        decision
            .count
            .saturating_mul(1_000_000)
            .checked_div(decision.trigger)
            .unwrap_or(0)
    })
}

fn why(report: &Report) -> String {
    match (report.outcome.why(), &report.decision) {
        (Some(why), _) => why.to_string(),
        (None, Some(decision)) => decision.reason.clone(),
        (None, None) => report.outcome.name().to_owned(),
    }
}
