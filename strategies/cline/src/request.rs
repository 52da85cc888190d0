//! `cline.request`: folds when the next request reaches a share of what the model takes.

use crate::json::{Json, tokens};
use foldback_core::config::Share;
use foldback_core::fraction::Fraction;
use foldback_core::limits::Limits;
use foldback_core::moment::Moment;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Decision, Estimator, OverflowPolicy, Pressure};
use foldback_stages::policy::Comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Percent of the window that a request may take, for a model without a limit of its own for the input.
const OF_WINDOW: u32 = 90;

/// The window that is assumed for an unknown model, in tokens.
const UNKNOWN: u64 = 128_000;

/// The fraction and the limit of the model that make up a share of its window.
fn of_limit(share: f64, limits: Limits) -> (Fraction, u64) {
    let Limits { context, input, .. } = limits;
    let (of_whole, whole) = match (input, context) {
        (0, 0) => (Fraction::WHOLE, UNKNOWN),
        (0, context) => (Fraction::percent(OF_WINDOW), context),
        (input, 0) => (Fraction::WHOLE, input),
        (input, context) => (Fraction::WHOLE, input.min(context)),
    };
    (Fraction::from_number(of_whole.number() * share), whole)
}

/// A share of what the model takes, rounded down.
pub(crate) fn share_of_input(share: f64, limits: Limits) -> u64 {
    let (share, whole) = of_limit(share, limits);
    share.floor_of(whole)
}

/// Configuration of [`Request`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestConfig {
    /// Share of what the model takes at which it folds (above 0, at most 1).
    pub share: Share,
}

impl StageConfig<dyn OverflowPolicy> for RequestConfig {
    fn build(self) -> Result<Arc<dyn OverflowPolicy>, Invalid> {
        Ok(Arc::new(Request { share: self.share.number(), unit: Arc::new(Json::units()) }))
    }
}

/// Folds when the next request reaches a share of what the model takes.
#[derive(Clone, Debug)]
pub struct Request {
    share: f64,
    unit: Arc<dyn Estimator>,
}

impl OverflowPolicy for Request {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart, Moment::ProviderOverflow]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        let count = tokens(pressure.units) + pressure.frame_tokens;
        let (share, whole) = of_limit(self.share, pressure.limits);
        let trigger = share.ceil_of(whole);
        let terms = format_args!("{} of what the model takes", self.share);
        let decision = Comparison::AtLeast.decide(count, trigger, terms);
        match pressure.moment.is_reactive() {
            true => Decision {
                fold: true,
                reason: decision.reason + "; the provider refused it",
                ..decision
            },
            false => decision,
        }
    }

    fn unit(&self) -> Option<Arc<dyn Estimator>> {
        Some(Arc::clone(&self.unit))
    }

    fn refuses(&self, limits: Limits) -> Option<String> {
        (share_of_input(self.share, limits) == 0).then(|| {
            format!("{} of what the model takes is nothing; set a larger window", self.share)
        })
    }
}
