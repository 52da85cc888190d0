//! Gates: what a preset must not do to be recommended.

use crate::number::{count, grouped};
use crate::rows::study::Score;
use schemars::JsonSchema;
use serde::Serialize;

/// One request in so many may be over the window.
const TOLERATED: u64 = 1_000;

/// What a preset did that no provider accepts. A preset that fails is shown and not recommended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gate {
    /// It broke no rule, and hardly any of its requests is over the window.
    pub passed: bool,
    /// Violations of provider rules that the preset caused.
    pub strategy_violations: u64,
    /// Requests.
    pub requests: u64,
    /// Those that were still over the window after the preset could react to the refusal, though they could have been made to
    /// fit: by their calibrated size where recorded usage calibrates the measure, else by measured tokens. More than one in a
    /// thousand fail the gate.
    pub over: u64,
    /// Those that do not fit under any preset: what is sent around the messages is over the window by itself. They fail
    /// no gate.
    pub unfittable: u64,
}

impl Gate {
    pub(super) fn new<'a>(scores: impl Iterator<Item = &'a Score>) -> Self {
        let mut gate = Self::default();
        for score in scores {
            let session = &score.metrics;
            gate.strategy_violations += session.strategy_violations;
            gate.requests += session.calls;
            gate.over += score.calibrated_over.unwrap_or(session.sent_over);
            gate.unfittable += session.unfittable;
        }
        gate.passed = gate.strategy_violations == 0 && gate.over * TOLERATED <= gate.requests;
        gate
    }

    /// What it did that no provider accepts, in words. A request that was refused and reduced before it was
    /// sent again does not count. `None` if it passes.
    pub fn why(&self) -> Option<String> {
        let rules = match self.strategy_violations {
            0 => None,
            1 => Some("broke provider rules once".to_owned()),
            2 => Some("broke provider rules twice".to_owned()),
            more => Some(format!("broke provider rules {} times", grouped(more))),
        };
        let over = (self.over * TOLERATED > self.requests)
            .then(|| format!("sent {} over the window", count(self.over, "request")));
        let why: Vec<String> = rules.into_iter().chain(over).collect();
        (!why.is_empty()).then(|| why.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::study::Outcome;
    use crate::run::totals::SessionMetrics;

    /// Broken rules, requests, those over by measured tokens, and by their calibrated size.
    type Session = (u64, u64, u64, Option<u64>);

    #[test]
    fn one_request_in_a_thousand_may_be_over() {
        let score = |(strategy_violations, calls, sent_over, calibrated_over): Session| {
            let metrics = SessionMetrics {
                strategy_violations,
                calls,
                sent_over,
                ..SessionMetrics::default()
            };
            Score::new(0, 0, Outcome { metrics, calibrated_over, ..Outcome::default() })
        };
        let table: [(&str, &[Session], Option<&str>); 9] = [
            ("nothing", &[(0, 10, 0, None)], None),
            ("one of a thousand", &[(0, 600, 1, None), (0, 400, 0, None)], None),
            ("one of fewer", &[(0, 999, 1, None)], Some("sent 1 request over the window")),
            (
                "by their calibrated size",
                &[(0, 99, 0, Some(2))],
                Some("sent 2 requests over the window"),
            ),
            ("by their calibrated size alone", &[(0, 99, 2, Some(0))], None),
            (
                "each by what is known",
                &[(0, 99, 2, None), (0, 99, 9, Some(1))],
                Some("sent 3 requests over the window"),
            ),
            ("a broken rule", &[(1, 10_000, 0, None)], Some("broke provider rules once")),
            ("two", &[(2, 10_000, 0, None)], Some("broke provider rules twice")),
            (
                "both",
                &[(3, 9, 0, None), (0, 9, 1, None)],
                Some("broke provider rules 3 times and sent 1 request over the window"),
            ),
        ];
        for (name, sessions, why) in table {
            let scores: Vec<Score> = sessions.iter().copied().map(score).collect();
            let gate = Gate::new(scores.iter());
            assert_eq!((gate.passed, gate.why().as_deref()), (why.is_none(), why), "{name}");
        }
    }

    #[test]
    fn what_nothing_can_make_fit_fails_no_gate() {
        let metrics = SessionMetrics { calls: 9, unfittable: 9, ..SessionMetrics::default() };
        let score = Score::new(0, 0, Outcome { metrics, ..Outcome::default() });
        let gate = Gate::new([&score].into_iter());
        assert_eq!((gate.passed, gate.unfittable, gate.why()), (true, 9, None));
    }
}
