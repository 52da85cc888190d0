//! Gates: what a preset must not do to be ranked at all.

use crate::number::{count, grouped, short};
use crate::study::Score;
use schemars::JsonSchema;
use serde::Serialize;

/// What a preset did that no provider accepts. A preset that fails is shown and not ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gate {
    /// Nothing below happened.
    pub passed: bool,
    /// Violations of provider rules that the preset caused.
    pub strategy_violations: u64,
    /// Requests that were still too large after the preset could react to the refusal, though they could have been made
    /// to fit.
    pub sent_over: u64,
    /// Those that do not fit under any preset: what is sent around the messages is over the window by itself. They fail
    /// no gate.
    pub unfittable: u64,
    /// Those that were sent over the window by their calibrated size, which fail no gate; `null` where no session's
    /// recorded usage calibrates the measure.
    pub calibrated_over: Option<u64>,
    /// By how much the largest request that was sent is over the window.
    pub max_excess: u64,
}

impl Gate {
    pub(super) fn of<'a>(scores: impl Iterator<Item = &'a Score>) -> Self {
        let mut gate = Self::default();
        for score in scores {
            let session = &score.metrics;
            if let Some(over) = score.calibrated_over {
                *gate.calibrated_over.get_or_insert(0) += over;
            }
            gate.strategy_violations += session.strategy_violations;
            gate.sent_over += session.sent_over;
            gate.unfittable += session.unfittable;
            gate.max_excess = gate.max_excess.max(session.max_excess);
        }
        gate.passed = gate.strategy_violations + gate.sent_over == 0;
        gate
    }

    /// Requests that were sent over the window by their calibrated size, if those are more than by measured tokens.
    pub fn more_calibrated(&self) -> Option<u64> {
        self.calibrated_over.filter(|over| *over > self.sent_over)
    }

    /// Whether requests fit by measured tokens and not by their calibrated size.
    pub fn is_doubtful(&self) -> bool {
        self.sent_over == 0 && self.more_calibrated().is_some()
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
        let sent = (self.sent_over > 0).then(|| {
            let requests = count(self.sent_over, "request");
            // Over the input limit alone there is no excess over the window.
            match self.max_excess {
                0 => format!("sent {requests} over the limits"),
                excess => {
                    format!("sent {requests} over the window, by up to {} tokens", short(excess))
                }
            }
        });
        let why: Vec<String> = rules.into_iter().chain(sent).collect();
        (!why.is_empty()).then(|| why.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Outcome;
    use crate::totals::SessionMetrics;

    #[test]
    fn what_is_sent_in_the_end_decides() {
        let session = |strategy_violations, sent_over, max_excess| {
            let metrics = SessionMetrics {
                strategy_violations,
                sent_over,
                max_excess,
                ..SessionMetrics::default()
            };
            Score::new(0, 0, Outcome { metrics, ..Outcome::default() })
        };
        let unfittable = |score: Score, unfittable| {
            let metrics = SessionMetrics { unfittable, ..score.metrics };
            Score::new(0, 0, Outcome { metrics, ..Outcome::default() })
        };
        let table = [
            ("nothing", vec![session(0, 0, 0)], None),
            (
                "sent all the same",
                vec![session(0, 1, 7_000)],
                Some("sent 1 request over the window, by up to 7.0k tokens"),
            ),
            (
                "over the input limit",
                vec![session(0, 2, 0)],
                Some("sent 2 requests over the limits"),
            ),
            ("nothing helps", vec![unfittable(session(0, 0, 0), 9)], None),
            (
                "nothing helps one of two",
                vec![unfittable(session(0, 0, 0), 9), session(0, 1, 7_000)],
                Some("sent 1 request over the window, by up to 7.0k tokens"),
            ),
            ("a broken rule", vec![session(1, 0, 0)], Some("broke provider rules once")),
            (
                "one of two",
                vec![session(3, 0, 0), session(0, 1, 9)],
                Some(
                    "broke provider rules 3 times and sent 1 request over the window, by up to 9 tokens",
                ),
            ),
        ];
        for (name, sessions, why) in table {
            let gate = Gate::of(sessions.iter());
            assert_eq!((gate.passed, gate.why().as_deref()), (why.is_none(), why), "{name}");
            let excess = sessions.iter().map(|session| session.metrics.max_excess).max();
            assert_eq!(Some(gate.max_excess), excess, "{name}");
        }
    }

    #[test]
    fn a_calibrated_size_fails_no_gate() {
        let score = |sent_over, calibrated_over| {
            let metrics = SessionMetrics { sent_over, ..SessionMetrics::default() };
            Score::new(0, 0, Outcome { metrics, calibrated_over, ..Outcome::default() })
        };
        let table = [
            ("nothing is known", vec![score(0, None)], None, false),
            ("all fit", vec![score(0, Some(0)), score(0, None)], Some(0), false),
            ("one session's", vec![score(0, None), score(0, Some(4))], Some(4), true),
            ("over by both", vec![score(1, Some(2)), score(0, Some(4))], Some(6), false),
        ];
        for (name, sessions, over, doubtful) in table {
            let gate = Gate::of(sessions.iter());
            assert_eq!((gate.calibrated_over, gate.is_doubtful()), (over, doubtful), "{name}");
            assert_eq!(
                gate.passed,
                sessions.iter().all(|one| one.metrics.sent_over == 0),
                "{name}"
            );
        }
    }
}
