//! The idle moment: when it comes, and what folds at it.
//!
//! While the agent waits for its user, the provider's prompt cache grows old. A fold just before the cache expires still reads the
//! input of its summary from it, where the summarizer asks at the end of the conversation's own request.

use crate::config::Share;
use crate::fraction::Fraction;
use crate::log::Message;
use crate::stage::Decision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// When the idle moment comes, and what folds at it: for stages with `idle` among their moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Idle {
    /// Share of the cache's lifetime that passes after the model has finished, without a request.
    pub after: Share,
    /// Share of its own trigger from which the policy folds at this moment.
    pub from: Share,
    /// Lifetime of the provider's prompt cache in seconds. Where not given, it is an hour if the last answer's usage says that
    /// most of what was written is kept so long, and else five minutes.
    pub lifetime: Option<NonZeroU64>,
}

impl Default for Idle {
    fn default() -> Self {
        let four_fifths = Share::from(Fraction::percent(80));
        Self { after: four_fifths, from: four_fifths, lifetime: None }
    }
}

impl Idle {
    /// When the moment comes after an answer, in milliseconds; `None` if the model had not finished, or the time is not known.
    pub fn due(&self, answer: &Message) -> Option<i64> {
        let answered = answer.at.filter(|_| answer.is_final_answer())?;
        let told = || answer.answer.as_ref()?.usage?.cached_for();
        let seconds = self.lifetime.map(NonZeroU64::get).or_else(told).unwrap_or(300);
        let wait = self.after.floor_of(seconds.saturating_mul(1_000));
        Some(answered.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX)))
    }

    /// What a policy decides at the moment: to fold, too, where its count has reached the share of its trigger.
    pub(crate) fn decide(&self, mut decision: Decision) -> Decision {
        let (from, share) = (self.from.ceil_of(decision.trigger), self.from.number());
        if from > 0 && !decision.fold {
            decision.fold = decision.count >= from;
            decision.reason += &format!("; while idle it folds from {from}, {share} of that");
        }
        decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Answer, Finish, Part, Usage};

    #[test]
    fn the_moment_comes_after_a_share_of_the_lifetime_once_the_model_has_finished() {
        let hour = Usage { cache_write: 9, cache_write_1h: 9, ..Usage::default() };
        let short = Usage { cache_write: 9, ..Usage::default() };
        let stop = Some(Finish::Stop);
        // What the answer says, its time, its usage and why it ended, the lifetime that is set; the moment, in seconds.
        type Row =
            (&'static str, Option<i64>, Option<Usage>, Option<Finish>, Option<u64>, Option<i64>);
        let rows: [Row; 9] = [
            ("five minutes unless told", Some(10), None, stop, None, Some(250)),
            ("told five minutes", Some(10), Some(short), stop, None, Some(250)),
            ("told an hour", Some(10), Some(hour), stop, None, Some(2_890)),
            ("what is set goes before", Some(10), Some(hour), stop, Some(100), Some(90)),
            ("no time", None, None, stop, None, None),
            ("cut", Some(10), None, Some(Finish::Length), None, None),
            ("failed", Some(10), None, Some(Finish::Error), None, None),
            ("calls tools", Some(10), None, Some(Finish::ToolCalls), None, None),
            ("no reason is known", Some(10), None, None, None, Some(250)),
        ];
        for (name, at, usage, finish, lifetime, due) in rows {
            let lifetime = lifetime.and_then(NonZeroU64::new);
            let answer = Answer { usage, finish, ..Answer::default() };
            let mut message = Message::assistant("a", vec![Part::text("So.")]).with_answer(answer);
            message.at = at.map(|seconds| seconds * 1_000);
            let idle = Idle { lifetime, ..Idle::default() };
            assert_eq!(idle.due(&message).map(|due| due / 1_000), due, "{name}");
        }
        let mut open = Message::assistant("a", vec![Part::call("c", "read", "{}")]);
        (open.at, open.answer) = (Some(1), Some(Answer::default()));
        assert_eq!(Idle::default().due(&open), None, "an open call");
        open.answer = None;
        assert_eq!(Idle::default().due(&open), None, "no answer");
    }

    #[test]
    fn a_policy_folds_from_a_share_of_its_trigger() {
        // Whether the policy folds by itself, its count, its trigger, the share; whether it folds.
        let rows = [
            (false, 79, 100, 0.8, false),
            (false, 80, 100, 0.8, true),
            (false, 99, 100, 1.0, false),
            (true, 10, 100, 0.8, true),
            // Switched off, or without a window.
            (false, 0, 0, 0.8, false),
            (false, 1, 1, 0.000_001, true),
        ];
        for (fold, count, trigger, from, expected) in rows {
            let decision = Decision { fold, count, trigger, ..Decision::off("as it is") };
            let idle = Idle { from: Share::try_from(from).unwrap(), ..Idle::default() };
            let decided = idle.decide(decision);
            assert_eq!(decided.fold, expected, "{count} of {trigger}: {}", decided.reason);
        }
    }
}
