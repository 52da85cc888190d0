//! Pauses automatic compaction when it has no effect, to avoid its cost at every step.

use super::Conversation;
use super::report::Report;
use crate::event::Event;
use crate::log::Usage;
use crate::moment::Moment;
use crate::outcome::{Outcome, Why};
use crate::stage::{OverflowPolicy, Pressure, UsageReading, UsageSource};
use crate::strategy::Bound;

/// Counts automatic compactions in a row that had no effect.
///
/// Of no use is one that failed (no summary, no gain, refused by a guard), and one after which the
/// policy would fire again on what is left. Where a compaction found nothing to do it cost nothing and
/// does not count. What is done because a request was refused or an answer was cut counts apart: it is
/// the last resort, and may still help when the proactive one does not.
///
/// Held back until the user speaks again, a person compacts with success, or the limits change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    proactive: u32,
    reactive: u32,
}

impl Breaker {
    /// Compactions in a row that had no effect, of the kind that this moment calls for.
    #[doc(hidden)]
    pub fn fruitless(&self, moment: Moment) -> u32 {
        if moment.is_reactive() { self.reactive } else { self.proactive }
    }

    /// The count of the kind that is held back, where one is.
    fn open(&self, limit: u32) -> Option<u32> {
        let most = self.proactive.max(self.reactive);
        (limit > 0 && most >= limit).then_some(most)
    }

    /// Why none is tried, where that is so. `limit` is the number after which it is held back.
    fn holds(&self, moment: Moment, limit: u32) -> Option<Why> {
        let fruitless = self.fruitless(moment);
        (limit > 0 && fruitless >= limit).then(|| {
            Why::new(
                "breaker-open",
                format!(
                    "{fruitless} automatic compactions in a row had no effect; the next user message, a manual compaction or new limits end this"
                ),
            )
        })
    }

    /// Records a compaction, and returns the count where that opens or closes the breaker.
    fn record(&mut self, moment: Moment, useful: bool, limit: u32) -> Option<(bool, u32)> {
        let count = if moment.is_reactive() { &mut self.reactive } else { &mut self.proactive };
        let was = *count;
        *count = if useful { 0 } else { was.saturating_add(1) };
        match limit {
            0 => None,
            _ if *count == limit && was < limit => Some((true, *count)),
            _ if was >= limit && *count == 0 => Some((false, was)),
            _ => None,
        }
    }
}

impl Conversation {
    /// Why an automatic fold that the policy asks for is not tried.
    pub(super) fn held_back(&self, moment: Moment) -> Option<Outcome> {
        let now = (self.history.log_len(), self.answers);
        if let Some(then) = self.folded_at.filter(|_| self.strategy.guards.repeat) {
            if then == now {
                return Some(Outcome::Unchanged(Why::new(
                    "nothing-appended",
                    "nothing was appended since the last automatic compaction",
                )));
            }
            if then.1 == now.1 {
                return Some(Outcome::Skipped(Why::new(
                    "no-model-step",
                    "the model has not answered since the last automatic compaction",
                )));
            }
        }
        let limit = self.strategy.guards.breaker;
        self.breaker.holds(moment, limit).map(Outcome::Skipped)
    }

    /// Records whether an automatic fold was of any use.
    pub(super) fn record_use(
        &mut self,
        policy: &Bound<dyn OverflowPolicy>,
        moment: Moment,
        report: Option<&Report>,
    ) {
        let useful = match report.map(|report| &report.outcome) {
            Some(Outcome::Changed | Outcome::Degraded(_)) => {
                moment.is_reactive() || !self.would_fold_again(policy)
            }
            Some(Outcome::Failed(_)) => false,
            // It cost nothing.
            Some(Outcome::Unchanged(_) | Outcome::Skipped(_)) | None => return,
        };
        let limit = self.strategy.guards.breaker;
        if let Some((open, fruitless)) = self.breaker.record(moment, useful, limit) {
            self.services.emit(&Event::Breaker { open, fruitless });
        }
    }

    /// Whether the policy would fire on the view as it is, its size taken for the usage that the next
    /// answer will report.
    fn would_fold_again(&self, policy: &Bound<dyn OverflowPolicy>) -> bool {
        let meter = self.meter(policy.meter);
        let usage =
            Usage { uncached: meter.frame_tokens() + meter.view_tokens(), ..Usage::default() };
        let usage = UsageReading { usage, source: UsageSource::Synthesised };
        let context = self.context(Moment::CallStart, policy.meter);
        // Nothing has come since the answer that is assumed, though a fold may have hidden all answers.
        let assumed = Pressure {
            usage: Some(usage),
            since_answer: 0,
            view_at_step: context.view_tokens(),
            ..context.pressure()
        };
        self.say(&policy.name, || policy.stage.decide(&assumed).fold).unwrap_or(true)
    }

    /// Tries again whatever was held back.
    pub(super) fn close_breaker(&mut self) {
        let fruitless = self.breaker.open(self.strategy.guards.breaker);
        self.breaker = Breaker::default();
        if let Some(fruitless) = fruitless {
            let open = false;
            self.services.emit(&Event::Breaker { open, fruitless });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_useless_ones_opens_it_and_a_useful_one_closes_it() {
        let (mut breaker, step, refused) =
            (Breaker::default(), Moment::StepEnd, Moment::ProviderOverflow);
        let table = [
            (step, false, None),
            (step, true, None),
            (step, false, None),
            (step, false, None),
            (refused, false, None),
            (step, false, Some((true, 3))),
            (step, false, None),
            (step, true, Some((false, 4))),
        ];
        for (row, (moment, useful, expected)) in table.into_iter().enumerate() {
            assert_eq!(breaker.record(moment, useful, 3), expected, "row {row}");
        }
        assert_eq!(breaker.fruitless(refused), 1);
    }

    #[test]
    fn zero_never_holds() {
        let mut breaker = Breaker::default();
        for _ in 0..9 {
            assert_eq!(breaker.record(Moment::CallStart, false, 0), None);
        }
        assert_eq!(breaker.holds(Moment::CallStart, 0), None);
        assert!(breaker.holds(Moment::CallStart, 9).is_some());
    }
}
