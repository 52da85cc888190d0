//! How many tokens does each part of the prompt get?
//!
//! From the total come off the fixed part (system prompt, identity, task, recent actions, the
//! overseer's insight, room for the current message) and a safety margin; what is left is the
//! conversation's. Residuals are served first, up to a share of the *total*; the rest is dealt to the
//! tiers 70 / 20 / 7 / 3. What tiers 1 to 3 do not use goes to tier 0.
//!
//! [`allocate`] counts in integers and never below zero. [`allocate_exact`] is the document's own
//! arithmetic: doubles, negative allocations where residuals take more than the conversation has
//! (floors then round away from zero), and no redistribution.

use crate::assembly::{ACTIONS, CURRENT, IDENTITY, INSIGHT, TASK};
use crate::tiers::TIERS;
use foldback_core::fraction::Fraction;
use foldback_core::frame::{Frame, SegmentKind};
use foldback_core::stage::Estimator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a budget is dealt out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shares {
    /// Largest share of the total budget that residuals get (0 to 1).
    pub residuals: f64,
    /// Percent of what is left after the residuals for tier 0, 1, 2 and 3; together at most 100.
    pub tiers: [u32; TIERS],
    /// Tokens kept free for the current message.
    pub current_message: u64,
    /// Tokens that are never given out.
    pub safety_margin: u64,
}

impl Default for Shares {
    fn default() -> Self {
        Self { residuals: 0.20, tiers: [70, 20, 7, 3], current_message: 50, safety_margin: 100 }
    }
}

/// Tokens of everything that stands around the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fixed {
    /// System prompt, system messages that open the history included.
    pub system_prompt: u64,
    /// Who the agent is.
    pub agent_identity: u64,
    /// The task.
    pub task_prompt: u64,
    /// What the agent did recently.
    pub actions: u64,
    /// Hints of an overseeing model.
    pub system_llm: u64,
    /// Tool definitions and whatever else a recorder sent without writing it down. The document does
    /// not know of these.
    pub unlisted: u64,
    /// Room for the current message.
    pub current_message: u64,
}

impl Fixed {
    /// The fixed part of a frame.
    pub fn new(frame: &Frame, reserve: u64, estimator: &dyn Estimator) -> Self {
        let tokens = |kind| frame.tokens_of(&kind, estimator);
        Self {
            system_prompt: tokens(SegmentKind::System),
            agent_identity: tokens(IDENTITY),
            task_prompt: tokens(TASK),
            actions: tokens(ACTIONS),
            system_llm: tokens(INSIGHT),
            unlisted: tokens(SegmentKind::Tools) + tokens(SegmentKind::Unrecorded),
            current_message: reserve.max(tokens(CURRENT)),
        }
    }

    /// Only what the document lists, with its constant for the current message.
    #[must_use]
    pub fn as_documented(self, reserve: u64) -> Self {
        Self { unlisted: 0, current_message: reserve, ..self }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.system_prompt
            + self.agent_identity
            + self.task_prompt
            + self.actions
            + self.system_llm
            + self.unlisted
            + self.current_message
    }
}

/// What a budget gives to whom. `N` is `u64`, or `f64` where the document is followed to the letter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Allocated<N> {
    /// Everything around the conversation.
    pub fixed: Fixed,
    /// The residuals.
    pub residuals: N,
    /// Tier 0 to 3.
    pub tiers: [N; TIERS],
}

/// A budget and its use, as the plan shows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TokenBudget<N> {
    /// Tokens to deal out.
    pub total: u64,
    /// Tokens that the conversation may have: total less fixed part and safety margin.
    pub conversation: N,
    /// Who gets what.
    pub allocated: Allocated<N>,
    /// Unallocated tokens, the safety margin among them.
    pub remaining: N,
    /// Percent of the total that was given out.
    pub utilization_percent: f64,
}

/// Most tokens that residuals may have: their share of the total, and no more than the conversation.
pub fn residual_ceiling(total: u64, fixed: &Fixed, shares: &Shares) -> u64 {
    let conversation = total.saturating_sub(fixed.total() + shares.safety_margin);
    Fraction::from_number(shares.residuals).floor_of(total).min(conversation)
}

/// Deals out a budget; `residuals` is what the residuals actually take.
pub fn allocate(total: u64, fixed: Fixed, residuals: u64, shares: &Shares) -> TokenBudget<u64> {
    let conversation = total.saturating_sub(fixed.total() + shares.safety_margin);
    let residuals = residuals.min(residual_ceiling(total, &fixed, shares));
    let rest = conversation - residuals;
    let tiers = shares.tiers.map(|percent| Fraction::percent(percent).floor_of(rest));
    TokenBudget {
        total,
        conversation,
        allocated: Allocated { fixed, residuals, tiers },
        remaining: 0,
        utilization_percent: 0.0,
    }
    .settled()
}

impl TokenBudget<u64> {
    /// Gives what tiers 1 to 3 do not use to tier 0. `used` is what they actually take.
    #[must_use]
    pub fn redistributed(mut self, used: [u64; TIERS - 1]) -> Self {
        let [newest, summarised @ ..] = &mut self.allocated.tiers;
        for (allocation, used) in summarised.iter_mut().zip(used) {
            let surplus = allocation.saturating_sub(used);
            *allocation -= surplus;
            *newest += surplus;
        }
        self.settled()
    }

    fn settled(mut self) -> Self {
        let given = self.allocated.fixed.total()
            + self.allocated.residuals
            + self.allocated.tiers.iter().sum::<u64>();
        self.remaining = self.total.saturating_sub(given);
        self.utilization_percent = percent(given as f64, self.total);
        self
    }
}

/// The document's own arithmetic.
pub fn allocate_exact(
    total: u64,
    fixed: Fixed,
    residuals: u64,
    shares: &Shares,
) -> TokenBudget<f64> {
    let whole = total as f64;
    let fixed_total = fixed.total() as f64;
    let conversation = (whole - fixed_total - shares.safety_margin as f64).max(0.0);
    let residuals = (residuals as f64).min(whole * shares.residuals);
    let rest = conversation - residuals;
    let tiers = shares.tiers.map(|percent| (rest * (f64::from(percent) / 100.0)).floor());
    let given = fixed_total + residuals + tiers.iter().sum::<f64>();
    TokenBudget {
        total,
        conversation,
        allocated: Allocated { fixed, residuals, tiers },
        remaining: whole - given,
        utilization_percent: percent(given, total),
    }
}

fn percent(given: f64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { given / total as f64 * 100.0 }
}
