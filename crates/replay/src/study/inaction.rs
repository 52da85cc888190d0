//! Why a preset did nothing in a session, and at which window it would have acted.

use super::record::Inaction;
use crate::drive::{Replay, ReplayOptions};
use foldback_core::conversation::StageRole;
use foldback_core::limits::Limits;
use foldback_core::log::Usage;
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::stage::{Decision, Pressure, UsageReading, UsageSource};
use foldback_core::strategy::Strategy;

/// Why a preset did nothing in a session, at the moment when it came nearest, and the largest window
/// at which its policy would have folded.
pub(super) fn inaction(
    replayed: &Replay,
    strategy: &Strategy,
    options: &ReplayOptions,
) -> Inaction {
    let (why, window) = reason(replayed, strategy, options);
    Inaction { why, window }
}

fn reason(
    replayed: &Replay,
    strategy: &Strategy,
    options: &ReplayOptions,
) -> (String, Option<u64>) {
    if strategy.overflow.is_none() && strategy.pruners.is_empty() {
        return ("has no stage that folds".to_owned(), None);
    }
    if replayed.reports.is_empty() {
        return ("none of its moments came".to_owned(), None);
    }
    let failed = replayed
        .reports
        .iter()
        .map(|(_, report)| report)
        .find(|report| matches!(report.outcome, Outcome::Failed(_)));
    if let Some(report) = failed {
        return (format!("{} {}", report.stage, report.outcome), None);
    }
    let nearest = replayed
        .reports
        .iter()
        .map(|(_, report)| report)
        .filter(|report| report.role != StageRole::Pruner)
        .filter_map(|report| report.decision.as_ref().map(|decision| (report, decision)))
        .max_by(|(_, a), (_, b)| nearness(a).total_cmp(&nearness(b)));
    let pruner = replayed
        .reports
        .iter()
        .rev()
        .map(|(_, report)| report)
        .find(|report| report.role == StageRole::Pruner);
    let mut parts = Vec::new();
    if let Some(report) = pruner {
        parts.push(format!(
            "{}: {}",
            report.stage,
            report
                .outcome
                .why()
                .map_or(String::new(), ToString::to_string)
        ));
    }
    let mut window = None;
    if let Some((report, decision)) = nearest {
        parts.push(format!("{}: {}", report.stage, decision.reason));
        window = window_to_act(strategy, decision, report.moment, options);
    }
    (parts.join("; "), window)
}

fn nearness(decision: &Decision) -> f64 {
    if decision.trigger == 0 {
        0.0
    } else {
        decision.count as f64 / decision.trigger as f64
    }
}

/// The largest window, in steps of a thousand, at which the policy would have folded on this count.
fn window_to_act(
    strategy: &Strategy,
    nearest: &Decision,
    moment: Moment,
    options: &ReplayOptions,
) -> Option<u64> {
    let policy = strategy.overflow.as_ref()?;
    let usage = UsageReading {
        usage: Usage {
            uncached: nearest.count,
            ..Usage::default()
        },
        source: UsageSource::Synthesised,
    };
    // The count is either what usage said or what the estimator counted; offered as both, a policy
    // takes the one it looks at.
    let folds = |thousands: u64| {
        let limits = Limits {
            context: thousands * 1_000,
            input: 0,
            output: options.limits.output,
        };
        policy.stage.refuses(limits).is_none()
            && policy
                .stage
                .decide(&Pressure {
                    moment,
                    view_tokens: nearest.count,
                    frame_tokens: 0,
                    usage: Some(usage),
                    limits,
                    model: options.model.as_deref(),
                    yields: &[],
                })
                .fold
    };
    (1..=options.limits.context / 1_000)
        .rev()
        .find(|thousands| folds(*thousands))
        .map(|k| k * 1_000)
}
