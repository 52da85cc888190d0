//! Fold now, and how far down?

use super::Estimator;
use super::answered::{AnsweredViews, UNANSWERED};
use crate::fold_stats::FoldStats;
use crate::limits::Limits;
use crate::log::Usage;
use crate::moment::Moment;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Where a usage figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageSource {
    /// The provider reported it for exactly this view.
    Provider,
    /// The recording holds it, and the view is what the recorder sent.
    Recorded,
    /// Calibrated estimate of the view: it is no longer what the recorder sent.
    Synthesised,
}

/// Usage of the last answer and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageReading {
    /// The figures.
    pub usage: Usage,
    /// Their source.
    pub source: UsageSource,
}

/// What a provider asks for tokens of its prompt cache, as multiples of the price of plain input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachePrices {
    /// For those that are read from it.
    pub read: f64,
    /// For those that are written to it.
    pub write: f64,
}

/// What a policy decides on.
#[derive(Clone, Copy, Debug)]
pub struct Pressure<'a> {
    /// When it is asked.
    pub moment: Moment,
    /// Tokens of the view by the policy's estimator.
    pub view_tokens: u64,
    /// Tokens of the frame by the policy's estimator.
    pub frame_tokens: u64,
    /// The view in the policy's [own unit](OverflowPolicy::unit), with what every request has of it; 0 where it has none.
    pub units: u64,
    /// Usage of the last answer, where known.
    pub usage: Option<UsageReading>,
    /// Tokens of what the view shows after the last answer, by the policy's estimator: what `usage` does not hold yet.
    pub since_answer: u64,
    /// Tokens of the view when the step of the last answer began, before what the user said at its beginning, and of that
    /// answer, by the policy's estimator.
    pub view_at_step: u64,
    /// Limits of the model.
    pub limits: Limits,
    /// Id of the model, where known.
    pub model: Option<&'a str>,
    /// Milliseconds since the last answer of the model, where it has a time: the provider's prompt cache is that old
    /// at least.
    pub idle_ms: Option<u64>,
    /// Seconds that the provider was asked to keep most of what it last wrote to its prompt cache, where its usage tells.
    pub cached_for: Option<u64>,
    /// What the folds so far brought and cost, oldest first, for policies that learn from it.
    pub fold_stats: &'a [FoldStats],
    /// Tokens of the view at each answer since the last fold, by the strategy's estimator.
    pub answered_views: &'a AnsweredViews,
    /// Prices of the model's prompt cache, where known.
    pub prices: Option<CachePrices>,
    /// Whether a pruner of this moment has just changed the view: where a request was refused, what is left may fit now.
    pub pruned: bool,
}

impl Pressure<'_> {
    /// What a policy is asked at a moment, with nothing in the view yet.
    #[doc(hidden)]
    pub fn at(moment: Moment, limits: Limits) -> Self {
        Self {
            moment,
            view_tokens: 0,
            frame_tokens: 0,
            units: 0,
            usage: None,
            since_answer: 0,
            view_at_step: 0,
            limits,
            model: None,
            idle_ms: None,
            cached_for: None,
            fold_stats: &[],
            answered_views: &UNANSWERED,
            prices: None,
            pruned: false,
        }
    }
}

/// What a policy decided, with the arithmetic behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Fold now?
    pub fold: bool,
    /// The count that was compared.
    pub count: u64,
    /// What it was compared with: the trigger.
    pub trigger: u64,
    /// What the fold should bring the view down to, where the policy has a target.
    pub target: Option<u64>,
    /// What the fold must not go below, where the policy has a floor.
    pub floor: Option<u64>,
    /// The comparison in words, e.g. `80000 > 68000 (context 100000 - output 32000)`.
    pub reason: String,
}

impl Decision {
    /// A decision not to fold, for a reason other than a comparison.
    pub fn off(reason: impl Into<String>) -> Self {
        Self { fold: false, count: 0, trigger: 0, target: None, floor: None, reason: reason.into() }
    }

    /// A decision to fold because the provider ended the request, whatever is counted.
    pub fn ended(moment: Moment) -> Self {
        let reason = match moment {
            Moment::LengthStop => "the provider cut the answer",
            _ => "the provider refused the request for its length",
        };
        Self { fold: true, ..Self::off(reason) }
    }
}

/// Decides whether to fold. One policy decides at every moment, so "off" means off everywhere.
pub trait OverflowPolicy: Send + Sync + fmt::Debug {
    /// The moments at which the policy wants to be asked, unless the configuration names others.
    fn moments(&self) -> &'static [Moment];

    /// Fold now?
    fn decide(&self, pressure: &Pressure<'_>) -> Decision;

    /// What the policy counts besides tokens, in a unit of its own: messages, calls, turns. The conversation keeps
    /// the sum over what is shown, so that asking does not walk the history.
    fn unit(&self) -> Option<Arc<dyn Estimator>> {
        None
    }

    /// Whether what it decides depends on [`Pressure::prices`].
    fn reads_prices(&self) -> bool {
        false
    }

    /// A reason why these limits could never work with this policy (a usable window of zero or less),
    /// so that such a configuration is refused before it runs.
    fn refuses(&self, limits: Limits) -> Option<String> {
        let _ = limits;
        None
    }
}
