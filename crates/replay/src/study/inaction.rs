//! Why a preset did nothing in a session, and at which window it would have acted.

use super::record::Inaction;
use crate::drive::{Replay, ReplayOptions};
use crate::idle;
use foldback_core::conversation::StageRole;
use foldback_core::limits::Limits;
use foldback_core::log::Usage;
use foldback_core::moment::Moment;
use foldback_core::stage::{Decision, Pressure, UsageReading, UsageSource};
use foldback_core::strategy::Strategy;

/// Why a preset did nothing in a session, at the moment when it came nearest, and the largest window
/// at which its policy would have folded.
pub(super) fn inaction(
    replayed: &Replay,
    strategy: &Strategy,
    options: &ReplayOptions,
) -> Inaction {
    let failures = idle::failures(replayed);
    if !failures.is_empty() {
        return Inaction { why: failures.join("; "), window: None };
    }
    let reports = replayed.reports.iter().map(|(_, report)| report);
    let policy = reports
        .filter(|report| report.role != StageRole::Pruner && report.decision.is_some())
        .max_by_key(|report| idle::nearness(report));
    Inaction {
        why: idle::reasons(replayed).join("; "),
        window: policy.and_then(|report| {
            window_to_act(strategy, report.decision.as_ref()?, report.moment, options)
        }),
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
        usage: Usage { uncached: nearest.count, ..Usage::default() },
        source: UsageSource::Synthesised,
    };
    // The count is either what usage said or what the estimator counted; offered as both, a policy
    // takes the one it looks at.
    let folds = |thousands: u64| {
        let limits = Limits { context: thousands * 1_000, input: 0, output: options.limits.output };
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
                    fold_stats: &[],
                })
                .fold
    };
    (1..=options.limits.context / 1_000)
        .rev()
        .find(|thousands| folds(*thousands))
        .map(|k| k * 1_000)
}
