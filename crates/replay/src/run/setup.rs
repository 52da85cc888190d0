//! The setup that all strategies of a run share: limits, model, prices, the estimator that reports.

use crate::judge::cost::{NamedTerms, OWN, Regime, RegimeTable, ServiceTerms};
use crate::judge::spent;
use crate::run::controls::{Seer, control};
use crate::run::drive::ReplayOptions;
use foldback_core::Limits;
use foldback_core::provider::Model as Completions;
use foldback_core::registry::Invalid;
use foldback_core::stage::{CachePrices, Estimator};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_providers::prices::ModelTable;
use std::sync::Arc;

/// Where the requests of a preset come from.
#[derive(Clone, Debug, Default)]
pub enum RequestSource {
    /// From a replay of its strategy.
    #[default]
    Replayed,
    /// From a replay of one that is made anew for every session, with what that session's calls will need.
    Seeing(Seer),
    /// From the recorder's own; see [`Preset::as_recorded`].
    Recorded,
}

/// A strategy that is compared. Where its requests are not those of its strategy, `strategy` only names it.
#[derive(Clone, Debug)]
pub struct Preset {
    /// The strategy.
    pub strategy: Arc<Strategy>,
    /// Everything that its behavior depends on, as text: its configuration after merging. Results
    /// are kept under it, so two strategies that do not behave alike must not share one.
    pub fingerprint: String,
    /// Where its requests come from.
    pub made: RequestSource,
    /// The model that stages may ask; `None` if there is none. Its answers are no
    /// part of `fingerprint`: results that a model had a part in belong into a store of their own.
    pub completions: Option<Arc<dyn Completions>>,
    /// Whether it is found out what it costs to read again what it missed. That takes up to two replays more.
    pub net: bool,
}

/// Name of the control that is made of what the recorders really sent.
pub const AS_RECORDED: &str = "as-recorded";

impl Preset {
    /// A strategy by its configuration.
    pub fn new(strategy: Strategy, fingerprint: String) -> Self {
        Self {
            strategy: Arc::new(strategy),
            fingerprint,
            made: RequestSource::default(),
            completions: None,
            net: true,
        }
    }

    /// The same preset without `net`: no screen shows what it costs to read again what it missed.
    #[must_use]
    pub fn without_net(mut self) -> Self {
        self.net = false;
        self.fingerprint.push_str(" without net");
        self
    }

    /// The control `as-recorded`: what the recorders really sent, their own compactions included. It is what
    /// a preset would take the place of.
    ///
    /// # Errors
    ///
    /// None in a release: a test makes it.
    pub fn as_recorded() -> Result<Self, Invalid> {
        let description = "What the recorder really sent, its own compactions included";
        let strategy = control(AS_RECORDED, description, Vec::new())?;
        Ok(Self { made: RequestSource::Recorded, ..Self::new(strategy, AS_RECORDED.to_owned()) })
    }

    /// Whether it never changes anything, so that others can be compared with it.
    pub fn is_baseline(&self) -> bool {
        let Strategy { pruners, overflow, filter, .. } = &*self.strategy;
        let idle = pruners.is_empty() && overflow.is_none() && filter.is_none();
        idle && matches!(self.made, RequestSource::Replayed)
    }

    /// A control that sees the future, never a strategy.
    ///
    /// # Errors
    ///
    /// What `evict` refuses.
    pub fn seeing(seer: Seer) -> Result<Self, Invalid> {
        let named = seer.strategy(&Arc::default(), &Arc::default())?;
        let fingerprint = format!("{seer:?}");
        Ok(Self { made: RequestSource::Seeing(seer), ..Self::new(named, fingerprint) })
    }
}

/// What a session's recorder asked of the cache, and when.
pub(crate) fn service_terms(session: &Session) -> ServiceTerms {
    let (hour, at_ms) = (session.hour_share(), session.began());
    ServiceTerms { hour, at_ms, ..ServiceTerms::default() }
}

/// What all presets of a comparison share.
#[derive(Debug)]
pub struct Setup {
    /// Limits from the command line; zero where not given.
    pub limits: Limits,
    /// Model from the command line.
    pub model: Option<String>,
    /// The model table.
    pub models: ModelTable,
    /// The price regimes.
    pub regimes: RegimeTable,
    /// Name of the regime that all sessions are billed by; [`OWN`] for each by its model.
    pub billed: String,
    /// The estimator that reports.
    pub measure: Arc<dyn Estimator>,
}

impl Setup {
    /// The limits in force for a session under a strategy: the command line's, else the user's
    /// file's, else the session's, else the model table's, else the preset's, else 200,000 / 32,000.
    pub(crate) fn limits_for(&self, session: &Session, strategy: &Strategy) -> Limits {
        let model = self.model_for(session, strategy);
        self.limits_of(model.as_deref(), self.recorded_limits(session), strategy)
    }

    /// The same for a model, where `recorded` is what a recording says of its limits.
    pub fn limits_of(&self, model: Option<&str>, recorded: Limits, strategy: &Strategy) -> Limits {
        let limits = strategy.limits(self.limits, recorded, self.table_limits(model));
        limits.or(Limits::DEFAULT).consistent(self.limits.output > 0)
    }

    /// The largest request that a session's provider takes, the same under every strategy: by the command
    /// line's limits, else the session's, else those of its model, else 200,000 tokens.
    pub(crate) fn ceiling_for(&self, session: &Session) -> Option<u64> {
        let table = self.table_limits(self.model.as_deref().or(session.model.as_deref()));
        let limits = self.limits.or(self.recorded_limits(session)).or(table).or(Limits::DEFAULT);
        limits.consistent(self.limits.output > 0).request_ceiling()
    }

    /// Limits of a recording: those that it states, else the larger window of its model if a request exceeded the usual one.
    fn recorded_limits(&self, session: &Session) -> Limits {
        let recorded = session.model.as_deref().filter(|_| self.model.is_none());
        let model = recorded.and_then(|model| self.models.find(model));
        let opened = model.and_then(|model| model.opened_by(session.largest_request()));
        session.limits.or(Limits { context: opened.unwrap_or(0), ..Limits::default() })
    }

    fn table_limits(&self, model: Option<&str>) -> Limits {
        let known = model.and_then(|model| self.models.find(model));
        known.map_or(Limits::default(), |model| model.limits())
    }

    /// The model in force.
    pub(crate) fn model_for(&self, session: &Session, strategy: &Strategy) -> Option<String> {
        self.model.clone().or_else(|| strategy.model.clone()).or_else(|| session.model.clone())
    }

    /// The options of one replay, in which no model is asked.
    pub fn options(&self, session: &Session, strategy: &Strategy) -> ReplayOptions {
        ReplayOptions {
            limits: self.limits_for(session, strategy),
            ceiling: self.ceiling_for(session),
            model: self.model_for(session, strategy),
            prices: self.cache_prices(session),
            measure: Arc::clone(&self.measure),
            validate: true,
            completions: None,
        }
    }

    /// What the prompt cache costs a session that is billed as the setup says.
    fn cache_prices(&self, session: &Session) -> Option<CachePrices> {
        let terms = match self.regimes.find(&self.billed) {
            Some(regime) => regime.terms(&self.models)?,
            None => self.own(session.model.as_deref(), service_terms(session))?.terms,
        };
        terms.rates.of_cache()
    }

    /// Every regime with a price, in the order of the table.
    pub(crate) fn named_terms(&self) -> Vec<NamedTerms> {
        let named = self.regimes.regimes.iter().filter_map(|regime| {
            let terms = regime.terms(&self.models)?;
            Some(NamedTerms { name: regime.name.as_str().into(), terms })
        });
        named.collect()
    }

    /// A session's own prices and caching rules: those of its model (the command line's before the recorded one) on its day,
    /// with the cache that its requests asked for. A model that the table has no prices of has those of the stand-in.
    pub(crate) fn own(&self, model: Option<&str>, asked: ServiceTerms) -> Option<NamedTerms> {
        let of = |name: &str| self.regimes.own(&*self.models.find(name)?, asked);
        let model = self.model.as_deref().or(model);
        let terms = model.and_then(of).or_else(|| of(&self.regimes.stand_in))?;
        Some(NamedTerms { name: OWN.into(), terms })
    }

    /// Whether the table has prices of a model.
    pub(crate) fn is_priced(&self, model: Option<&str>) -> bool {
        let known = model.and_then(|model| self.models.find(model));
        known.is_some_and(|model| self.regimes.own(&model, ServiceTerms::default()).is_some())
    }

    /// What a session cost its recorder, by its usage: under every named regime, then at its own prices. Empty without
    /// usage.
    pub(crate) fn spent(&self, session: &Session) -> Vec<(Arc<str>, f64)> {
        let named = self.named_terms().into_iter();
        let named = named
            .filter_map(|named| Some((named.name, spent::alike(session, &named.terms.rates)?)));
        let own = spent::own(session, &self.models, &self.regimes, self.model.as_deref());
        named.chain(own.map(|own| (OWN.into(), own.usd))).collect()
    }

    /// The regime of this name, or all names in the error.
    pub fn regime(&self, name: &str) -> Result<&Regime, Vec<&str>> {
        self.regimes.find(name).ok_or_else(|| {
            let regimes = self.regimes.regimes.iter();
            regimes.map(|regime| regime.name.as_str()).collect()
        })
    }

    /// Everything that a result depends on besides session and strategy, as text.
    pub(crate) fn fingerprint(&self) -> String {
        format!(
            "{:?} {:?} {:?} {:?} {}",
            self.limits,
            self.model,
            self.models,
            self.regimes,
            self.measure.id()
        )
    }
}
