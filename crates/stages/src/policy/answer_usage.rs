//! `answer-usage`: folds when what the provider counted for the last answer reaches a limit.
//!
//! Several systems go by this number, and differ in four things: which classes of tokens count, whether an estimate of what came
//! since is added, what share of the window is the limit and what is kept free below it, and whether the limit itself is over it.

use foldback_core::fraction::Fraction;
use foldback_core::limits::Limits;
use foldback_core::log::Usage;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a count is compared with a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparison {
    /// Folds above the limit.
    #[default]
    #[serde(rename = ">")]
    Above,
    /// Folds at the limit already.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Comparison {
    /// Whether the count is over the limit.
    pub fn holds<T: PartialOrd>(self, count: T, limit: T) -> bool {
        match self {
            Self::Above => count > limit,
            Self::AtLeast => count >= limit,
        }
    }

    /// The sign between the two.
    pub fn sign(self, holds: bool) -> &'static str {
        match (self, holds) {
            (Self::Above, true) => ">",
            (Self::Above, false) => "<=",
            (Self::AtLeast, true) => ">=",
            (Self::AtLeast, false) => "<",
        }
    }
}

/// A class of tokens in the usage of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TokenClass {
    /// Input without what the cache held or took in.
    Input,
    /// Input read from the cache.
    CacheRead,
    /// Input written to the cache.
    CacheWrite,
    /// Generated tokens without reasoning.
    Output,
    /// Reasoning.
    Reasoning,
}

impl TokenClass {
    /// Every class.
    pub const ALL: [Self; 5] =
        [Self::Input, Self::CacheRead, Self::CacheWrite, Self::Output, Self::Reasoning];

    fn of(self, usage: &Usage) -> u64 {
        match self {
            Self::Input => usage.uncached,
            Self::CacheRead => usage.cache_read,
            Self::CacheWrite => usage.cache_write,
            Self::Output => usage.output,
            Self::Reasoning => usage.reasoning,
        }
    }

    /// The tokens of these classes together; the provider's own total instead, where that is wanted and known.
    pub fn sum(classes: &[Self], usage: &Usage, provider_total: bool) -> u64 {
        let total = usage.total.filter(|total| provider_total && *total > 0);
        let of_classes =
            || classes.iter().fold(0_u64, |sum, class| sum.saturating_add(class.of(usage)));
        total.unwrap_or_else(of_classes)
    }
}

/// Configuration of [`AnswerUsage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerUsageConfig {
    /// Whether to fold at all; off means off at every moment.
    pub auto: bool,
    /// Which classes of usage make up the count.
    pub counts: Vec<TokenClass>,
    /// Whether the provider's own total counts where it gave one, instead of `counts`.
    pub provider_total: bool,
    /// Whether an estimate of what came after the answer is added.
    pub add_since: bool,
    /// Whether the count is an anchor and what the view has gained or lost since. The anchor is the usage, or an estimate of what the
    /// step of the answer began with and of that answer, where this is larger. What the user said at the beginning of the step counts
    /// as gained since.
    pub anchored: bool,
    /// Whether the whole request is estimated where no usage is known; without it the policy waits for one.
    pub estimate_without_usage: bool,
    /// Whether the limit of the input counts as the window, where the model has one.
    pub of_input: bool,
    /// Share of the window that is the limit (above 0, at most 1).
    pub share: f64,
    /// Whether the share is rounded up, not down.
    pub round_up: bool,
    /// Tokens that are kept free below it.
    pub reserve: u64,
    /// Tokens of the window that are kept free where the share leaves fewer, unless it has no more.
    pub room: u64,
    /// Share of the window that is the limit where a turn ends, with nothing kept free (above 0, at most 1).
    pub turn_end_share: Option<f64>,
    /// A limit in tokens that holds where it is lower.
    pub limit: Option<u64>,
    /// How the count is compared with the limit.
    pub comparison: Comparison,
}

impl Default for AnswerUsageConfig {
    fn default() -> Self {
        Self {
            auto: true,
            counts: TokenClass::ALL.to_vec(),
            provider_total: false,
            add_since: true,
            anchored: false,
            estimate_without_usage: true,
            of_input: false,
            share: 1.0,
            round_up: false,
            reserve: 0,
            room: 0,
            turn_end_share: None,
            limit: None,
            comparison: Comparison::Above,
        }
    }
}

impl StageConfig<dyn OverflowPolicy> for AnswerUsageConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        let shares =
            [("share", self.share), ("turn_end_share", self.turn_end_share.unwrap_or(1.0))];
        for (name, share) in shares {
            if !(1.0..=1e6).contains(&(share * 1e6).round()) {
                return Err(Invalid::new(
                    name,
                    "must be a share of the window above 0 and up to 1, e.g. 0.9",
                ));
            }
        }
        if self.counts.is_empty() {
            return Err(Invalid::new(
                "counts",
                "names no class of tokens, so nothing would ever be counted",
            ));
        }
        Ok(Arc::new(AnswerUsage {
            share: Fraction::of(self.share),
            turn_end_share: self.turn_end_share.map(Fraction::of),
            config: self,
        }))
    }
}

/// Folds when what the provider counted for the last answer reaches a limit.
#[derive(Clone, Debug)]
pub struct AnswerUsage {
    share: Fraction,
    turn_end_share: Option<Fraction>,
    config: AnswerUsageConfig,
}

impl AnswerUsage {
    /// What the count is compared with, and how it comes about.
    fn limit(&self, limits: Limits, moment: Moment) -> (u64, String) {
        let input = limits.request_ceiling().filter(|_| self.config.of_input);
        let context = input.unwrap_or(limits.context);
        let (share, reserve) = match &self.turn_end_share {
            Some(share) if moment == Moment::TurnEnd => (share, 0),
            _ => (&self.share, self.config.reserve),
        };
        let of_window =
            if self.config.round_up { share.ceil_of(context) } else { share.floor_of(context) };
        let limit = of_window.saturating_sub(reserve);
        let room = self.config.room;
        if let Some(set) = self.config.limit.filter(|set| *set < limit) {
            return (set, "as configured".to_owned());
        }
        match context.checked_sub(room).filter(|lower| 0 < *lower && *lower < limit) {
            Some(lower) => (lower, format!("{context} - {room}")),
            None => (limit, format!("{} of {context} - {reserve}", share.number())),
        }
    }

    fn count(&self, pressure: &Pressure<'_>) -> Option<(u64, String)> {
        let since = if self.config.add_since { pressure.since_answer } else { 0 };
        let Some(reading) = pressure.usage else {
            let estimate = pressure.frame_tokens + pressure.view_tokens;
            return self.config.estimate_without_usage.then(|| (estimate, "estimated".to_owned()));
        };
        let used = TokenClass::sum(&self.config.counts, &reading.usage, self.config.provider_total);
        if self.config.anchored {
            let (at_step, view) = (pressure.view_at_step, pressure.view_tokens);
            let anchor = used.max(pressure.frame_tokens + at_step);
            let count = anchor.saturating_add(view).saturating_sub(at_step);
            return Some((
                count,
                format!("{anchor} of the last step, the view from {at_step} to {view}"),
            ));
        }
        Some((used.saturating_add(since), format!("usage {used} + {since} since")))
    }
}

impl OverflowPolicy for AnswerUsage {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::StepEnd, Moment::ProviderOverflow]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        if !self.config.auto {
            return Decision::off("automatic compaction is off");
        }
        if pressure.moment.is_reactive() {
            return Decision::ended(pressure.moment);
        }
        if pressure.limits.context == 0 {
            return Decision::off("the window of the model is not known");
        }
        let Some((count, counted)) = self.count(pressure) else {
            return Decision::off("no usage of a last answer is known");
        };
        let (trigger, arithmetic) = self.limit(pressure.limits, pressure.moment);
        let fold = self.config.comparison.holds(count, trigger);
        let sign = self.config.comparison.sign(fold);
        let reason = format!("{count} {sign} {trigger} ({counted}; {arithmetic})");
        Decision { fold, count, trigger, target: None, floor: None, reason }
    }

    fn refuses(&self, limits: Limits) -> Option<String> {
        let (limit, arithmetic) = self.limit(limits, Moment::CallStart);
        (self.config.auto && limits.context > 0 && limit == 0).then(|| {
            format!("leaves no room ({arithmetic}), so every answer would overflow; set a larger window or a smaller `reserve`")
        })
    }
}
