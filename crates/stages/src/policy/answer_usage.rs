//! `answer-usage`: folds when what the provider counted for the last answer, or an estimate of the next request, reaches a limit.
//!
//! Most systems decide by these two numbers, and differ in the terms. The count is the usage of the answer, an estimate, or the larger
//! of the two; the limit is a share of the window, or the window less what is kept free where that is lower.

use foldback_core::config::Share;
use foldback_core::fraction::Fraction;
use foldback_core::limits::Limits;
use foldback_core::log::Usage;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, OverflowPolicy, Pressure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::num::NonZeroU64;
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
    /// Folds if the count is over the limit. `terms` says in words how the two came about.
    pub fn decide(self, count: u64, limit: u64, terms: impl Display) -> Decision {
        let (fold, sign) = match self {
            Self::Above if count > limit => (true, ">"),
            Self::Above => (false, "<="),
            Self::AtLeast if count >= limit => (true, ">="),
            Self::AtLeast => (false, "<"),
        };
        let reason = format!("{count} {sign} {limit} ({terms})");
        Decision { fold, count, trigger: limit, target: None, floor: None, reason }
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

    fn tokens(self, usage: &Usage) -> u64 {
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
            || classes.iter().fold(0_u64, |sum, class| sum.saturating_add(class.tokens(usage)));
        total.unwrap_or_else(of_classes)
    }
}

/// When an estimate of the whole request is the count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EstimateUse {
    /// Never: the policy waits for a usage.
    Never,
    /// Where no usage is known.
    #[default]
    WithoutUsage,
    /// Where no usage is known, or one without input.
    WithoutInput,
    /// Where it is larger than the usage.
    Larger,
}

/// What the limit of the input alone means, for models that have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputLimit {
    /// Nothing.
    #[default]
    Ignored,
    /// It takes the place of the window.
    Instead,
    /// It holds beside the window: the lower of the two limits counts.
    AsWell,
}

/// Configuration of [`AnswerUsage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerUsageConfig {
    /// Whether to fold at all; off means off at every moment.
    pub auto: bool,
    /// Which classes of usage make up the count; none: usage does not count.
    pub counts: Vec<TokenClass>,
    /// Whether the provider's own total counts where it gave one, instead of `counts`.
    pub provider_total: bool,
    /// Whether an estimate of what came after the answer is added.
    pub add_since: bool,
    /// Whether the count is an anchor and what the view has gained or lost since. The anchor is the usage, or an estimate of what the
    /// step of the answer began with and of that answer, where this is larger. What the user said at the beginning of the step counts
    /// as gained since.
    pub anchored: bool,
    /// When an estimate of the whole request is the count.
    pub estimate: EstimateUse,
    /// Whether system prompt and tools are part of that estimate.
    pub frame: bool,
    /// What the limit of the input means, where the model has one.
    pub input_limit: InputLimit,
    /// Share of the window that is the limit (above 0, at most 1).
    pub share: Share,
    /// Whether the share is rounded up, not down.
    pub round_up: bool,
    /// Tokens of the window that are kept free, where the share leaves fewer.
    pub reserve: u64,
    /// Share of the window (0 to 1) above which the reserve must leave tokens, else nothing but the share counts; unset: the reserve is
    /// kept in every window.
    pub reserve_leaves: Option<f64>,
    /// Tokens that are kept free below the limit of the input, in the place of `reserve`.
    pub input_reserve: Option<u64>,
    /// Whether that is at most the longest answer.
    pub input_reserve_at_most_output: bool,
    /// The longest answer is kept free below the window, where it is more than `reserve`: the output limit of the model, up to so many
    /// tokens; unset: it is not.
    pub output_token_max: Option<NonZeroU64>,
    /// The longest answer of a model without an output limit; unset: `output_token_max`.
    pub output_unknown: Option<u64>,
    /// Share of the window that is the limit where a turn ends, with nothing kept free (above 0, at most 1).
    pub turn_end_share: Option<Share>,
    /// A limit in tokens that holds where it is lower.
    pub limit: Option<u64>,
    /// A limit in tokens that holds where the window is not known; unset: nothing folds there.
    pub unknown_limit: Option<u64>,
    /// Whether a refused request folds although a pruner has just cleared something from it.
    pub after_pruning: bool,
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
            estimate: EstimateUse::WithoutUsage,
            frame: true,
            input_limit: InputLimit::Ignored,
            share: Share::WHOLE,
            round_up: false,
            reserve: 0,
            reserve_leaves: None,
            input_reserve: None,
            input_reserve_at_most_output: false,
            output_token_max: None,
            output_unknown: None,
            turn_end_share: None,
            limit: None,
            unknown_limit: None,
            after_pruning: true,
            comparison: Comparison::Above,
        }
    }
}

impl StageConfig<dyn OverflowPolicy> for AnswerUsageConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        if self.counts.is_empty() && self.estimate != EstimateUse::Larger {
            let why = "names no class of tokens, so nothing would ever be counted; name at least `input`, or set `estimate = \"larger\"`";
            return Err(Invalid::new("counts", why));
        }
        if self.reserve_leaves.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err(Invalid::new("reserve_leaves", "must be a share from 0 to 1, e.g. 0.15"));
        }
        Ok(Arc::new(AnswerUsage(self)))
    }
}

impl AnswerUsageConfig {
    /// How many tokens a request may have, and how that comes about; below 0 where more is kept free than there is. `None` where the
    /// window is not known.
    pub fn usable(&self, limits: Limits) -> Option<(i64, String)> {
        self.share_of(limits, None)
    }

    /// The same. A share that is given takes the place of `share` and of whatever is kept free.
    fn share_of(&self, limits: Limits, share: Option<Share>) -> Option<(i64, String)> {
        let Limits { context, input, output } = limits;
        let most = self.output_token_max.map_or(0, NonZeroU64::get);
        let answer = match output.min(most) {
            0 => self.output_unknown.unwrap_or(most),
            output => output,
        };
        let reserve = match self.input_reserve {
            Some(reserve) if self.input_reserve_at_most_output => reserve.min(answer),
            reserve => reserve.unwrap_or(self.reserve),
        };
        let below = |name, whole: u64, reserve: u64| match share {
            Some(share) => self.below(name, whole, share, 0),
            None => self.below(name, whole, self.share, reserve),
        };
        let by_input = (input > 0).then(|| below("input", input, reserve));
        let by_window = (context > 0).then(|| below("context", context, self.reserve.max(answer)));
        match self.input_limit {
            InputLimit::Ignored => by_window,
            InputLimit::Instead => by_input.or(by_window),
            InputLimit::AsWell => by_input.into_iter().chain(by_window).min(),
        }
    }

    fn below(&self, name: &str, whole: u64, share: Share, reserve: u64) -> (i64, String) {
        let of_share = match self.round_up && share < Share::WHOLE {
            // A part is less than the whole.
            true => share.ceil_of(whole).min(whole.saturating_sub(1)),
            false => share.floor_of(whole),
        };
        let (of_share, rest) = (signed(of_share), signed(whole) - signed(reserve));
        let is_kept = self
            .reserve_leaves
            .is_none_or(|share| rest > signed(Fraction::from_number(share).floor_of(whole)));
        match is_kept && rest <= of_share {
            true if reserve == 0 => (rest, format!("{name} {whole}")),
            true => (rest, format!("{name} {whole} - {reserve} kept free")),
            false => (of_share, format!("{} of {name} {whole}", share.number())),
        }
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// Folds when what the provider counted for the last answer, or an estimate of the next request, reaches a limit.
#[derive(Clone, Debug)]
pub struct AnswerUsage(AnswerUsageConfig);

impl AnswerUsage {
    /// What the count is compared with, and how it comes about.
    fn limit(&self, limits: Limits, moment: Moment) -> Option<(u64, String)> {
        let turn_end = self.0.turn_end_share.filter(|_| moment == Moment::TurnEnd);
        let usable = self.0.share_of(limits, turn_end);
        let usable = usable.map(|(tokens, terms)| (u64::try_from(tokens).unwrap_or(0), terms));
        let set = if usable.is_some() { self.0.limit } else { self.0.unknown_limit };
        match set.filter(|set| usable.as_ref().is_none_or(|(usable, _)| set < usable)) {
            Some(set) => Some((set, "as configured".to_owned())),
            None => usable,
        }
    }

    fn count(&self, pressure: &Pressure<'_>) -> Option<(u64, String)> {
        let AnswerUsageConfig { estimate: when, ref counts, provider_total, .. } = self.0;
        let frame = if self.0.frame { pressure.frame_tokens } else { 0 };
        let (estimate, view) = (frame + pressure.view_tokens, pressure.view_tokens);
        let usage = pressure.usage.map(|reading| reading.usage);
        let usage =
            usage.filter(|usage| when != EstimateUse::WithoutInput || usage.input_total() > 0);
        let Some(usage) = usage else {
            return (when != EstimateUse::Never).then(|| (estimate, "estimated".to_owned()));
        };
        let used = TokenClass::sum(counts, &usage, provider_total);
        if self.0.anchored {
            let at_step = pressure.view_at_step;
            let anchor = used.max(pressure.frame_tokens + at_step);
            let count = anchor.saturating_add(view).saturating_sub(at_step);
            let terms = format!("{anchor} of the last step, the view from {at_step} to {view}");
            return Some((count, terms));
        }
        let since = if self.0.add_since { pressure.since_answer } else { 0 };
        let count = used.saturating_add(since);
        match when == EstimateUse::Larger && estimate >= count {
            true => Some((estimate, format!("estimated; usage {count}"))),
            false if self.0.add_since => Some((count, format!("usage {used} + {since} since"))),
            false => Some((count, format!("usage {used}"))),
        }
    }
}

impl OverflowPolicy for AnswerUsage {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::StepEnd, Moment::ProviderOverflow]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        if !self.0.auto {
            return Decision::off("automatic compaction is off");
        }
        if pressure.moment.is_reactive() {
            return match pressure.pruned && !self.0.after_pruning {
                true => Decision::off("results were cleared; the request is sent again first"),
                false => Decision::ended(pressure.moment),
            };
        }
        let Some((limit, terms)) = self.limit(pressure.limits, pressure.moment) else {
            return Decision::off("the window of the model is not known");
        };
        let Some((count, counted)) = self.count(pressure) else {
            return Decision::off("no usage of a last answer is known");
        };
        self.0.comparison.decide(count, limit, format_args!("{counted}; {terms}"))
    }

    /// A limit of 0 is refused. Where neither the frame nor usage counts, a fold can leave nothing to count, so it is not.
    fn refuses(&self, limits: Limits) -> Option<String> {
        let (limit, terms) = self.limit(limits, Moment::CallStart)?;
        let never_empty = self.0.frame || !self.0.counts.is_empty();
        (self.0.auto && limits.context > 0 && limit == 0 && never_empty).then(|| {
            format!(
                "leaves a usable window of 0 tokens ({terms}), so every answer would overflow; set a larger window or keep less of it free"
            )
        })
    }
}
