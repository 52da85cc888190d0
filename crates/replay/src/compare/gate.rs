//! Gates: what a preset must not do to be ranked at all.

use crate::measure::SessionMetrics;
use schemars::JsonSchema;
use serde::Serialize;

/// What a preset did that no provider takes. A preset that fails is shown and not ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gate {
    /// Nothing below happened.
    pub passed: bool,
    /// Violations of provider rules that the preset caused.
    pub strategy_violations: u64,
    /// Requests that the provider would have refused.
    pub overflow_calls: u64,
    /// Those that were still too large after the preset could react to the refusal.
    pub sent_over: u64,
    /// By how much the largest request that was sent is over the window.
    pub max_excess: u64,
}

impl Gate {
    pub(super) fn of<'a>(metrics: impl Iterator<Item = &'a SessionMetrics>) -> Self {
        let mut gate = Self::default();
        for session in metrics {
            gate.strategy_violations += session.strategy_violations;
            gate.overflow_calls += session.overflow_calls;
            gate.sent_over += session.sent_over;
            gate.max_excess = gate.max_excess.max(session.max_excess);
        }
        gate.passed = gate.strategy_violations + gate.sent_over == 0;
        gate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_in_the_end_decides() {
        let session = |strategy_violations, overflow_calls, sent_over, max_excess| SessionMetrics {
            strategy_violations,
            overflow_calls,
            sent_over,
            max_excess,
            ..SessionMetrics::default()
        };
        let table = [
            ("nothing", vec![session(0, 0, 0, 0)], true),
            ("refused and mended", vec![session(0, 3, 0, 0)], true),
            ("sent all the same", vec![session(0, 3, 1, 7)], false),
            ("a broken rule", vec![session(1, 0, 0, 0)], false),
            ("one of two", vec![session(0, 0, 0, 0), session(0, 1, 1, 9)], false),
        ];
        for (name, sessions, passed) in table {
            let gate = Gate::of(sessions.iter());
            assert_eq!(gate.passed, passed, "{name}");
            let excess = sessions.iter().map(|session| session.max_excess).max();
            assert_eq!(Some(gate.max_excess), excess, "{name}");
        }
    }
}
