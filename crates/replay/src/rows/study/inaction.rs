//! Why a preset did nothing in a session, and at which window it would have acted.

use super::record::Inaction;
use crate::run::drive::{Replay, ReplayOptions};
use crate::run::idle;
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

/// The largest window, in thousands, at which the policy would have folded on this count.
///
/// A window may be any number that a recording names, so it is halved, not counted down: a policy has too
/// little room in a window, where it refuses it or folds, or it has enough, and with enough it has enough in
/// every larger window.
fn window_to_act(
    strategy: &Strategy,
    nearest: &Decision,
    moment: Moment,
    options: &ReplayOptions,
) -> Option<u64> {
    let policy = &strategy.overflow.as_ref()?.stage;
    let usage = UsageReading {
        usage: Usage { uncached: nearest.count, ..Usage::default() },
        source: UsageSource::Synthesised,
    };
    let limits = |thousands: u64| Limits {
        context: thousands * 1_000,
        input: 0,
        output: options.limits.output,
    };
    let refuses = |thousands: u64| policy.refuses(limits(thousands)).is_some();
    // The count is either what usage said or what the estimator counted; offered as both, a policy
    // takes the one it looks at.
    let folds = |thousands: u64| {
        let pressure = Pressure {
            view_tokens: nearest.count,
            usage: Some(usage),
            view_at_step: nearest.count,
            model: options.model.as_deref(),
            ..Pressure::at(moment, limits(thousands))
        };
        policy.decide(&pressure).fold
    };
    // The first window has no tokens; no policy acts on one that is not known.
    let (mut little, mut enough) = (0, options.limits.context / 1_000 + 1);
    while enough - little > 1 {
        let middle = little + (enough - little) / 2;
        match refuses(middle) || folds(middle) {
            true => little = middle,
            false => enough = middle,
        }
    }
    (little > 0 && !refuses(little)).then(|| little * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::controls::clairvoyant;
    use foldback_core::meter::MeterId;
    use foldback_core::stage::OverflowPolicy;
    use foldback_core::strategy::Bound;
    use foldback_stages::estimator::{Rounding, Unit, chars};
    use foldback_stages::pruner::EvictConfig;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Folds above four fifths of what a reserve leaves of the window, and counts how often it is asked.
    #[derive(Debug, Default)]
    struct CountingPolicy {
        reserve: u64,
        asked: AtomicU64,
    }

    impl OverflowPolicy for CountingPolicy {
        fn moments(&self) -> &'static [Moment] {
            &[Moment::CallStart]
        }

        fn decide(&self, pressure: &Pressure<'_>) -> Decision {
            assert!(self.asked.fetch_add(1, Ordering::Relaxed) < 1_000, "asked without end");
            let trigger = pressure.limits.context.saturating_sub(self.reserve) / 5 * 4;
            let fold = pressure.view_tokens > trigger;
            Decision { fold, count: pressure.view_tokens, trigger, ..Decision::off("") }
        }

        fn refuses(&self, limits: Limits) -> Option<String> {
            (limits.context <= self.reserve).then(|| "no room".to_owned())
        }
    }

    /// The window at which a preset with this reserve would have acted on a count, and how often it was asked.
    fn window(reserve: u64, count: u64, context: u64) -> (Option<u64>, u64) {
        let policy = Arc::new(CountingPolicy { reserve, ..CountingPolicy::default() });
        let mut strategy = clairvoyant(Arc::default(), EvictConfig::default()).unwrap();
        strategy.overflow = Some(Bound {
            name: "counted".to_owned(),
            stage: Arc::clone(&policy) as Arc<dyn OverflowPolicy>,
            when: Vec::new(),
            meter: MeterId::OWN,
        });
        let measure = Arc::new(chars(Unit::Utf16, Rounding::Ceil));
        let options = crate::acted::options(Limits::new(context, 0), measure);
        let nearest = Decision { count, ..Decision::off("") };
        let window = window_to_act(&strategy, &nearest, Moment::CallStart, &options);
        (window, policy.asked.load(Ordering::Relaxed))
    }

    #[test]
    fn the_window_to_act_as_a_table() {
        // name, reserve, count, window of the session, window to act
        let cases = [
            ("below the trigger", 0, 8_001, 200_000, Some(10_000)),
            ("at the trigger", 0, 8_000, 200_000, Some(9_000)),
            ("a reserve", 20_000, 8_001, 200_000, Some(30_000)),
            ("only windows that are refused would be small enough", 20_000, 100, 200_000, None),
            ("too little for any window", 0, 0, 200_000, None),
            ("no whole thousand", 0, 8_001, 999, None),
            ("it would have acted in every window up to this one", 0, 8_001, 5_000, Some(5_000)),
            ("a window of 10^15", 0, 8_001, 1_000_000_000_000_000, Some(10_000)),
            ("the largest window", 0, 8_001, u64::MAX, Some(10_000)),
        ];
        for (name, reserve, count, context, expected) in cases {
            let (found, asked) = window(reserve, count, context);
            assert_eq!(found, expected, "{name}");
            assert!(asked <= 64, "{name}: asked {asked} times");
        }
    }
}
