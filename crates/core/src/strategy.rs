//! A compiled strategy: stages bound and ready to run.

use crate::carry::Carry;
use crate::guard::Guards;
use crate::idle::Idle;
use crate::limits::Limits;
use crate::log::Message;
use crate::meter::MeterId;
use crate::moment::Moment;
use crate::provider::Asks;
use crate::stage::{Estimator, Filter, OverflowPolicy, Pruner, Summarizer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A stage in its place: its name, when it runs, and which estimator counts for it.
#[derive(Debug)]
pub struct Bound<S: ?Sized> {
    /// Name of the stage.
    pub name: String,
    /// The stage.
    pub stage: Arc<S>,
    /// When it runs. Empty for stages that run because another one did.
    pub when: Vec<Moment>,
    /// The meter that counts for the stage: that of the strategy's estimator, or of one that the section of the stage names.
    pub meter: MeterId,
}

impl<S: ?Sized> Clone for Bound<S> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            stage: Arc::clone(&self.stage),
            when: self.when.clone(),
            meter: self.meter,
        }
    }
}

/// What happens when a summary can't be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// Nothing changes and the outcome is `failed`.
    #[default]
    Keep,
    /// What was to be summarized is hidden without a summary; the outcome is `degraded`.
    Hide,
    /// The extractive summarizer stands in; the outcome is `degraded`.
    Extractive,
}

/// Whether a strategy is something to use or something to compare with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Something to use.
    #[default]
    Strategy,
    /// Something to compare with.
    Control,
}

/// A way in which a preset differs from the system that it reproduces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// What the original does.
    pub original: String,
    /// What foldback does.
    pub foldback: String,
}

/// A compiled strategy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Strategy {
    /// Name of the preset or of the file.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// Which system and version it reproduces; empty for a custom strategy.
    pub reproduces: String,
    /// For whom it is not the right choice, one phrase each.
    pub not_for: Vec<String>,
    /// To use or to compare with.
    pub kind: Kind,
    /// The strategy's estimator, then those that single stages name for themselves.
    pub estimators: Vec<Arc<dyn Estimator>>,
    /// The policy.
    pub overflow: Option<Bound<dyn OverflowPolicy>>,
    /// The pruners, in order.
    pub pruners: Vec<Bound<dyn Pruner>>,
    /// The filter.
    pub filter: Option<Bound<dyn Filter>>,
    /// The summarizer.
    pub summarizer: Option<Arc<dyn Summarizer>>,
    /// What replaces the summarizer when it fails.
    pub fallback: Option<Arc<dyn Summarizer>>,
    /// What happens when a summary can't be had.
    pub on_failure: OnFailure,
    /// The original asks for a summary at the end of the conversation's own request, with the same system prompt, tools and
    /// messages, which the provider's cache holds. Else the request has a prompt of its own.
    pub shares_prefix: bool,
    /// Limits that a user's file sets; they go before what a session or a model table says.
    pub user_limits: Limits,
    /// Limits that the preset falls back on.
    pub preset_limits: Limits,
    /// Model whose limits apply, where the configuration names one.
    pub model: Option<String>,
    /// Which guards are on.
    pub guards: Guards,
    /// What folds may not lose.
    pub carry: Carry,
    /// When the idle moment comes, and what folds at it.
    pub idle: Idle,
    /// How it differs from what it reproduces.
    pub deviations: Vec<Deviation>,
}

impl Strategy {
    /// Begins a strategy whose stages are made in code. To be found by its name, in strategy files and by the command, a
    /// strategy is [registered](crate::registry) instead.
    pub fn builder(name: impl Into<String>) -> StrategyBuilder {
        StrategyBuilder { name: name.into(), ..StrategyBuilder::default() }
    }

    /// A strategy that counts and does nothing.
    #[doc(hidden)]
    pub fn new(name: impl Into<String>, estimator: Arc<dyn Estimator>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            reproduces: String::new(),
            not_for: Vec::new(),
            kind: Kind::default(),
            estimators: vec![estimator],
            overflow: None,
            pruners: Vec::new(),
            filter: None,
            summarizer: None,
            fallback: None,
            on_failure: OnFailure::default(),
            shares_prefix: false,
            user_limits: Limits::default(),
            preset_limits: Limits::default(),
            model: None,
            guards: Guards::default(),
            carry: Carry::default(),
            idle: Idle::default(),
            deviations: Vec::new(),
        }
    }

    /// The estimator that counts for a stage.
    #[doc(hidden)]
    pub fn counts_for<S: ?Sized>(&self, stage: &Bound<S>) -> &Arc<dyn Estimator> {
        &self.estimators[stage.meter.0]
    }

    /// The strategy's own estimator.
    pub fn estimator(&self) -> &Arc<dyn Estimator> {
        &self.estimators[0]
    }

    /// When the idle moment comes after this message, the last one, in milliseconds; `None` if no stage waits for it, or the model
    /// had not finished.
    pub fn idle_at(&self, last: &Message) -> Option<i64> {
        self.idle.due(last).filter(|_| self.waits_for_idle())
    }

    /// Whether a stage waits for the idle moment.
    #[doc(hidden)]
    pub fn waits_for_idle(&self) -> bool {
        let pruners = self.pruners.iter().map(|pruner| &pruner.when);
        let mut when = pruners.chain(self.overflow.as_ref().map(|policy| &policy.when));
        when.any(|when| when.contains(&Moment::Idle))
    }

    /// Whether it has summaries written.
    #[doc(hidden)]
    pub fn summarises(&self) -> bool {
        self.filter.is_some() && self.summarizer.is_some()
    }

    /// The models that its stages ask through [`Services::model`](crate::services::Services::model); none in most strategies.
    #[doc(hidden)]
    pub fn asks(&self) -> Vec<Asks> {
        let Some(filter) = &self.filter else { return Vec::new() };
        // A filter may put a summarizer of its own in the place of the strategy's, or around it.
        let placed = self.summarizer.iter().map(|own| filter.stage.summarizer(Arc::clone(own)));
        let all = self.summarizer.iter().cloned().chain(placed).chain(self.fallback.clone());
        let mut asks: Vec<Asks> = Vec::new();
        for one in all.flat_map(|summarizer| summarizer.asks()) {
            if !asks.contains(&one) {
                asks.push(one);
            }
        }
        asks
    }

    /// The name that reports use: with the summarizer that stood in, e.g. `opencode+extractive`, so
    /// that no number made with a stand-in goes by the original's bare name.
    pub fn label(&self) -> String {
        match (&self.filter, &self.summarizer) {
            (Some(_), Some(summarizer)) => format!("{}+{}", self.name, summarizer.id()),
            _ => self.name.clone(),
        }
    }

    /// The limits in force: the command line's, else the user's file's, else the session's, else the
    /// model table's, else the preset's, each value by itself.
    pub fn limits(&self, command_line: Limits, session: Limits, table: Limits) -> Limits {
        command_line.or(self.user_limits).or(session).or(table).or(self.preset_limits)
    }

    /// Why the strategy can't work within `limits`, in words; where a limit is zero its own counts. `None`
    /// where it can, or where the window is not known.
    pub fn refuses(&self, limits: Limits) -> Option<String> {
        let limits = self.limits(limits, Limits::default(), Limits::default());
        let policy = self.overflow.as_ref().filter(|_| limits.context > 0)?;
        policy.stage.refuses(limits)
    }
}

/// Stages that become a [`Strategy`]. Reports name each by the name that it is given here.
#[derive(Debug, Default)]
#[must_use = "nothing is made before `build`"]
pub struct StrategyBuilder {
    name: String,
    estimator: Option<Arc<dyn Estimator>>,
    overflow: Option<Bound<dyn OverflowPolicy>>,
    pruners: Vec<Bound<dyn Pruner>>,
    filter: Option<Bound<dyn Filter>>,
    summarizer: Option<Arc<dyn Summarizer>>,
}

impl StrategyBuilder {
    /// What counts tokens. Required.
    pub fn estimator(mut self, estimator: Arc<dyn Estimator>) -> Self {
        self.estimator = Some(estimator);
        self
    }

    /// What decides whether to fold, at its own moments.
    pub fn overflow(mut self, name: impl Into<String>, policy: Arc<dyn OverflowPolicy>) -> Self {
        let when = policy.moments().to_vec();
        self.overflow = Some(Bound { name: name.into(), stage: policy, when, meter: MeterId::OWN });
        self
    }

    /// A pruner, at its own moment. Several run in the order in which they are added.
    pub fn pruner(mut self, name: impl Into<String>, pruner: Arc<dyn Pruner>) -> Self {
        let when = vec![pruner.moment()];
        self.pruners.push(Bound { name: name.into(), stage: pruner, when, meter: MeterId::OWN });
        self
    }

    /// What arranges the view when the policy decides to fold.
    pub fn filter(mut self, name: impl Into<String>, filter: Arc<dyn Filter>) -> Self {
        let (name, when) = (name.into(), Vec::new());
        self.filter = Some(Bound { name, stage: filter, when, meter: MeterId::OWN });
        self
    }

    /// What writes the summaries that the filter asks for.
    pub fn summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// The strategy.
    ///
    /// # Errors
    ///
    /// Without an estimator; with a filter that no policy ever asks for, or a policy that has no filter.
    pub fn build(self) -> Result<Strategy, StrategyError> {
        let missing = |what| StrategyError { strategy: self.name.clone(), what };
        let estimator = self.estimator.ok_or_else(|| {
            missing("`estimator(…)` is missing: every strategy counts with something")
        })?;
        match (&self.overflow, &self.filter) {
            (Some(_), None) => {
                return Err(missing(
                    "`filter(…)` is missing: the policy decides to fold, and nothing folds",
                ));
            }
            (None, Some(_)) => {
                return Err(missing(
                    "`overflow(…)` is missing: no policy decides when the filter folds",
                ));
            }
            _ => {}
        }
        Ok(Strategy {
            overflow: self.overflow,
            pruners: self.pruners,
            filter: self.filter,
            summarizer: self.summarizer,
            ..Strategy::new(self.name.clone(), estimator)
        })
    }
}

/// A strategy that can't be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strategy {strategy}: {what}")]
pub struct StrategyError {
    strategy: String,
    what: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{Decision, Pressure};

    #[derive(Debug)]
    struct Never(Arc<str>);

    impl Estimator for Never {
        fn id(&self) -> &Arc<str> {
            &self.0
        }

        fn text(&self, _: &str) -> u64 {
            0
        }
    }

    impl OverflowPolicy for Never {
        fn moments(&self) -> &'static [Moment] {
            &[Moment::CallStart]
        }

        fn decide(&self, _: &Pressure<'_>) -> Decision {
            Decision::off("never")
        }
    }

    #[test]
    fn what_a_strategy_lacks_is_said() {
        let stage = Arc::new(Never("never".into()));
        let nothing = Strategy::builder("mine").build().unwrap_err().to_string();
        assert!(nothing.starts_with("strategy mine: `estimator(…)` is missing"), "{nothing}");
        let counts = || Strategy::builder("mine").estimator(Arc::clone(&stage) as _);
        assert_eq!(counts().build().unwrap().name, "mine");
        let asked = counts().overflow("never", Arc::clone(&stage) as _).build().unwrap_err();
        assert!(asked.to_string().contains("`filter(…)` is missing"), "{asked}");
    }
}
