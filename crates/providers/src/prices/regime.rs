//! Price regimes: caching rules and prices as dated data.

use crate::prices::cache::{CacheRules, CacheUse};
use crate::prices::models::{Model, ModelTable, Price, Tier};
use foldback_core::log::{Answer, Service, Usage};
use foldback_core::stage::CachePrices;
use foldback_core::strategy::Strategy;
use serde::Deserialize;
use std::sync::LazyLock;

/// Seconds in an hour.
const HOUR: u32 = 3600;

/// Prices in USD, of tokens per million.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Plain input.
    pub input: f64,
    /// Input read from the cache.
    pub read: f64,
    /// Input written to the cache.
    pub write: f64,
    /// Input written to a cache that lives an hour.
    pub write_1h: f64,
    /// The share of what a request writes that lives an hour, where nobody counted it.
    pub hour: f64,
    /// Output.
    pub output: f64,
    /// A thousand web searches that the provider makes itself.
    pub web_search: f64,
    /// Prices of a request whose input is above a threshold.
    pub tier: Option<Tier>,
}

impl Rates {
    /// List prices. A class that is not billed apart is input like any other.
    pub fn new(price: &Price) -> Self {
        let or = |class: f64, other: f64| if class > 0.0 { class } else { other };
        let write = or(price.cache_write_5m, price.input);
        let tier = price.tier.map(|tier| {
            let write = or(tier.cache_write_5m, tier.input);
            Tier {
                cache_read: or(tier.cache_read, tier.input),
                cache_write_5m: write,
                cache_write_1h: or(tier.cache_write_1h, write),
                ..tier
            }
        });
        Self {
            input: price.input,
            read: or(price.cache_read, price.input),
            write,
            write_1h: or(price.cache_write_1h, write),
            hour: 0.0,
            output: price.output,
            web_search: price.web_search,
            tier,
        }
    }

    /// The prices of a whole request of this size.
    pub fn at(&self, input_tokens: u64) -> Self {
        match self.tier {
            Some(tier) if input_tokens > tier.above => Self {
                input: tier.input,
                read: tier.cache_read,
                write: tier.cache_write_5m,
                write_1h: tier.cache_write_1h,
                output: tier.output,
                tier: None,
                ..*self
            },
            _ => *self,
        }
    }

    /// The price of what is written to the cache, of both lives in their shares.
    pub fn written(&self) -> f64 {
        self.write + (self.write_1h - self.write) * self.hour
    }

    /// What its prompt cache costs, as multiples of the price of plain input; `None` where that is free.
    pub fn of_cache(&self) -> Option<CachePrices> {
        let multiple = |price: f64| price / self.input;
        let prices = CachePrices { read: multiple(self.read), write: multiple(self.written()) };
        (self.input > 0.0).then_some(prices)
    }

    /// Dollars for a request and its answer, as the provider counted them, and for its web searches.
    pub fn used_usd(&self, usage: &Usage, web_searches: u64) -> f64 {
        let rates = self.at(usage.input_total());
        let for_an_hour = usage.cache_write_1h.min(usage.cache_write);
        usd(rates.input, usage.uncached)
            + usd(rates.read, usage.cache_read)
            + usd(rates.write, usage.cache_write - for_an_hour)
            + usd(rates.write_1h, for_an_hour)
            + rates.output_usd(usage.output_total(), web_searches)
    }

    /// Dollars for the input of a request.
    pub fn input_usd(&self, cache: &CacheUse) -> f64 {
        let written = usd(self.written(), cache.write);
        usd(self.read, cache.read) + written + usd(self.input, cache.uncached)
    }

    /// Dollars for an answer and for the provider's web searches for it.
    pub fn output_usd(&self, tokens: u64, web_searches: u64) -> f64 {
        usd(self.output, tokens) + self.web_search * web_searches as f64 / 1e3
    }
}

/// What the prompt cache of a model costs by the tables that ship, where a strategy decides by it.
pub fn cache_prices(strategy: &Strategy, model: Option<&str>) -> Option<CachePrices> {
    static TABLES: LazyLock<(ModelTable, RegimeTable)> =
        LazyLock::new(|| (ModelTable::embedded(), RegimeTable::embedded()));
    let policy = strategy.overflow.as_ref()?;
    let (models, regimes) = policy.stage.reads_prices().then(|| &*TABLES)?;
    let model = models.find(model?)?;
    regimes.own(&model, ServiceTerms::default())?.rates.of_cache()
}

/// Dollars for tokens at a price per million.
pub fn usd(price: f64, tokens: u64) -> f64 {
    price * tokens as f64 / 1e6
}

/// How a session is priced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// How the provider caches.
    pub rules: CacheRules,
    /// What it charges.
    pub rates: Rates,
}

/// The terms of service that the price of requests depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServiceTerms {
    /// The share of what they wrote to the cache that was to live for an hour.
    pub hour: f64,
    /// How they were served.
    pub service: Service,
    /// When, in milliseconds since the Unix epoch, if known.
    pub at_ms: Option<i64>,
}

/// A named regime.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// Its name.
    pub name: String,
    /// The model whose prices give the dollars.
    pub base: String,
    /// Price of a cache read, as a multiple of plain input; that of `base` if not given.
    pub read: Option<f64>,
    /// Price of a cache write, as a multiple of plain input; that of `base` if not given.
    pub write: Option<f64>,
    /// Shortest prefix that is cached, in tokens.
    pub minimum: u64,
    /// Granularity of a match, in tokens.
    pub granularity: u64,
    /// Lifetime of a prefix after its last use, in seconds; 0 if it does not expire.
    pub ttl_seconds: u32,
    /// Prefixes of the ids of models that these rules apply to.
    #[serde(default)]
    pub models: Vec<String>,
    /// Where the rules are stated.
    pub source: String,
}

impl Regime {
    /// The caching rules.
    pub fn rules(&self) -> CacheRules {
        CacheRules {
            minimum: self.minimum,
            granularity: self.granularity,
            ttl_ms: (self.ttl_seconds > 0).then(|| i64::from(self.ttl_seconds) * 1000),
        }
    }

    /// Rules and prices for all sessions alike; `None` if the table does not have the base model or its prices. Whatever is
    /// written to the cache lives as long as the regime says, and costs what that costs.
    pub fn terms(&self, models: &ModelTable) -> Option<Terms> {
        let hour = if self.ttl_seconds >= HOUR { 1.0 } else { 0.0 };
        let terms = self
            .priced(&*models.find(&self.base)?, ServiceTerms { hour, ..ServiceTerms::default() })?;
        let mut rates = terms.rates;
        let one = rates.written();
        (rates.write, rates.write_1h) = (one, one);
        if let Some(tier) = &mut rates.tier {
            let one = if hour > 0.0 { tier.cache_write_1h } else { tier.cache_write_5m };
            (tier.cache_write_5m, tier.cache_write_1h) = (one, one);
        }
        let multiples = |read: &mut f64, write: &mut f64, write_1h: &mut f64, input: f64| {
            *read = self.read.map_or(*read, |read| read * input);
            *write = self.write.map_or(*write, |write| write * input);
            *write_1h = self.write.map_or(*write_1h, |write| write * input);
        };
        multiples(&mut rates.read, &mut rates.write, &mut rates.write_1h, rates.input);
        if let Some(Tier { input, cache_read, cache_write_5m, cache_write_1h, .. }) =
            &mut rates.tier
        {
            multiples(cache_read, cache_write_5m, cache_write_1h, *input);
        }
        Some(Terms { rates, ..terms })
    }

    /// A model's own prices with these caching rules; `None` if they are not known.
    pub fn priced(&self, model: &Model, asked: ServiceTerms) -> Option<Terms> {
        let price = model.price_of(asked.service, asked.at_ms)?;
        Some(Terms { rules: self.rules(), rates: Rates { hour: asked.hour, ..Rates::new(price) } })
    }
}

/// A table of regimes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegimeTable {
    /// The day that the table describes.
    pub as_of: String,
    /// The model whose prices sessions of a model have that is not listed.
    pub stand_in: String,
    /// The regimes.
    #[serde(rename = "regime")]
    pub regimes: Vec<Regime>,
}

impl RegimeTable {
    /// The table that ships with foldback.
    pub fn embedded() -> Self {
        toml::from_str(include_str!("../../data/regimes.toml")).unwrap_or_else(|error| {
            // A test reads the embedded table, so this can't happen in a release.
            unreachable!("embedded regime table: {error}")
        })
    }

    /// The regime of this name.
    pub fn find(&self, name: &str) -> Option<&Regime> {
        self.regimes.iter().find(|regime| regime.name == name)
    }

    /// A model's own prices, context tier included, with the caching rules of its provider: the first regime that names
    /// the model's family, or, for clients that ask for a cache of one hour for most of what they write, the one that
    /// keeps a prefix longest. `None` when no regime names it, or if its prices are not known.
    pub fn own(&self, model: &Model, asked: ServiceTerms) -> Option<Terms> {
        let id = model.id.to_lowercase();
        let mut regimes = self.regimes.iter().filter(|regime| {
            let mut families = regime.models.iter();
            families.any(|family| id.starts_with(family.as_str()))
        });
        let first = regimes.next()?;
        let longest =
            || regimes.fold(first, |a, b| if b.ttl_seconds > a.ttl_seconds { b } else { a });
        if asked.hour > 0.5 { longest() } else { first }.priced(model, asked)
    }

    /// The price of an answer in US dollars, by its recorded usage and that of the provider's compactions during the call, at
    /// the prices of the day for its model, or for `model` if the answer names none. `None` without known prices.
    pub fn spent_usd(
        &self,
        models: &ModelTable,
        answer: &Answer,
        model: Option<&str>,
    ) -> Option<f64> {
        let model = models.find(answer.model.as_deref().or(model)?)?;
        let at_ms = answer.started.or(answer.ended);
        let asked = ServiceTerms { service: answer.service, at_ms, hour: 0.0 };
        Some(used_usd(&Rates::new(model.price_of(asked.service, asked.at_ms)?), answer))
    }
}

/// What an answer cost at some prices, with the provider's compactions during it.
pub fn used_usd(rates: &Rates, answer: &Answer) -> f64 {
    let of = |usage: &Option<Usage>, searches| {
        usage.map_or(0.0, |usage| rates.used_usd(&usage, searches))
    };
    of(&answer.usage, answer.web_searches) + of(&answer.compaction, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_regime_has_a_price() {
        let (regimes, models) = (RegimeTable::embedded(), ModelTable::embedded());
        let names: Vec<_> = regimes.regimes.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(
            names,
            ["anthropic-5m", "anthropic-1h", "openai", "gemini", "deepseek", "no-cache"]
        );
        for regime in &regimes.regimes {
            let terms = regime.terms(&models).unwrap();
            assert!(terms.rates.input > 0.0 && terms.rates.output > 0.0, "{}", regime.name);
        }
    }

    #[test]
    fn a_tier_prices_the_whole_request() {
        let (regimes, models) = (RegimeTable::embedded(), ModelTable::embedded());
        let cases = [
            ("gemini-2.5-pro", 200_000, [1.25, 0.125, 1.25, 10.0]),
            ("gemini-2.5-pro", 200_001, [2.5, 0.25, 2.5, 15.0]),
            ("claude-sonnet-4-5", 200_001, [6.0, 0.6, 7.5, 22.5]),
            ("gpt-5.4", 272_001, [5.0, 0.5, 5.0, 22.5]),
            ("claude-opus-4-5", 900_000, [5.0, 0.5, 6.25, 25.0]),
        ];
        for (model, size, expected) in cases {
            let rates = regimes
                .own(&models.find(model).unwrap(), ServiceTerms::default())
                .unwrap()
                .rates
                .at(size);
            let ours = [rates.input, rates.read, rates.written(), rates.output];
            assert_eq!(ours, expected, "{model} at {size}");
        }
    }

    /// By the share of what was written that was to live an hour.
    #[test]
    fn a_cache_of_one_hour_has_its_own_price_and_life() {
        let (regimes, models) = (RegimeTable::embedded(), ModelTable::embedded());
        let rows = [
            ("claude-sonnet-4-5", 0.0, 3.75, 300),
            ("claude-sonnet-4-5", 0.5, 4.875, 300),
            ("claude-sonnet-4-5", 1.0, 6.0, 3600),
            ("claude-opus-4-5", 1.0, 10.0, 3600),
            // Others do not sell one.
            ("gpt-5.4", 1.0, 2.5, 600),
            ("gemini-2.5-pro", 1.0, 1.25, 3600),
        ];
        for (model, hour, write, seconds) in rows {
            let asked = ServiceTerms { hour, ..ServiceTerms::default() };
            let terms = regimes.own(&models.find(model).unwrap(), asked).unwrap();
            let ours = (terms.rates.written(), terms.rules.ttl_ms);
            assert_eq!(ours, (write, Some(seconds * 1000)), "{model}, {hour}");
        }
    }

    /// What is written for five minutes and for an hour, in one request.
    #[test]
    fn each_class_of_writes_has_its_price() {
        let (regimes, models) = (RegimeTable::embedded(), ModelTable::embedded());
        let usage = Usage {
            cache_write: 100_000,
            cache_write_1h: 80_000,
            output: 1_000,
            ..Usage::default()
        };
        let answer = Answer { usage: Some(usage), web_searches: 3, ..Answer::default() };
        let own = regimes.spent_usd(&models, &answer, Some("claude-opus-4-8")).unwrap();
        assert!((own - (0.125 + 0.8 + 0.025 + 0.03)).abs() < 1e-12, "{own}");
        assert_eq!(regimes.spent_usd(&models, &answer, Some("owl-1")), None);
        for (name, expected) in [("anthropic-5m", 0.25), ("anthropic-1h", 0.4), ("no-cache", 0.2)] {
            let rates = regimes.find(name).unwrap().terms(&models).unwrap().rates;
            let usd = used_usd(&rates, &answer) - 0.01 - 0.03;
            assert!((usd - expected).abs() < 1e-12, "{name}: {usd}");
        }
    }

    #[test]
    fn a_request_costs_what_its_service_costs() {
        let (regimes, models) = (RegimeTable::embedded(), ModelTable::embedded());
        let usage = Some(Usage { uncached: 100_000, ..Usage::default() });
        let usd = |service| {
            let answer = Answer { usage, service, ..Answer::default() };
            regimes.spent_usd(&models, &answer, Some("claude-opus-4-8")).unwrap()
        };
        let all = [Service::Standard, Service::Fast, Service::Batch].map(usd);
        for (ours, expected) in all.iter().zip([0.5, 1.0, 0.25]) {
            assert!((ours - expected).abs() < 1e-12, "{ours}");
        }
    }

    #[test]
    fn every_model_has_caching_rules() {
        let regimes = RegimeTable::embedded();
        for model in ModelTable::embedded().models {
            assert!(
                model.price.is_none() || regimes.own(&model, ServiceTerms::default()).is_some(),
                "{}",
                model.id
            );
        }
    }
}
