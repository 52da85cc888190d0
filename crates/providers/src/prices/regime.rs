//! Price regimes: caching rules and prices as dated data.

use crate::prices::cache::{CacheRules, CacheUse};
use crate::prices::models::{Model, ModelTable, Tier};
use foldback_core::log::Usage;
use serde::Deserialize;

/// Seconds in an hour.
const HOUR: u32 = 3600;

/// Prices in USD, of tokens per million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Plain input.
    pub input: f64,
    /// Input read from the cache.
    pub read: f64,
    /// Input written to the cache.
    pub write: f64,
    /// Output.
    pub output: f64,
    /// A thousand web searches that the provider makes itself.
    pub web_search: f64,
    /// Prices of a request whose input is above a threshold.
    pub tier: Option<Tier>,
}

impl Rates {
    /// The prices of a whole request of this size.
    pub fn at(&self, input_tokens: u64) -> Self {
        match self.tier {
            Some(tier) if input_tokens > tier.above => {
                let grown = if self.input > 0.0 { tier.input / self.input } else { 1.0 };
                Self {
                    input: tier.input,
                    read: tier.cache_read,
                    write: self.write * grown,
                    output: tier.output,
                    tier: None,
                    ..*self
                }
            }
            _ => *self,
        }
    }

    /// Dollars for a request and its answer, as the provider counted them, and for its web searches.
    pub fn used_usd(&self, usage: &Usage, web_searches: u64) -> f64 {
        let Usage { cache_read: read, cache_write: write, uncached, .. } = *usage;
        let cache = CacheUse { read, write, uncached, ..CacheUse::default() };
        let rates = self.at(usage.input_total());
        rates.input_usd(&cache) + rates.output_usd(usage.output_total(), web_searches)
    }

    /// Dollars for the input of a request.
    pub fn input_usd(&self, cache: &CacheUse) -> f64 {
        usd(self.read, cache.read) + usd(self.write, cache.write) + usd(self.input, cache.uncached)
    }

    /// Dollars for an answer and for the provider's web searches for it.
    pub fn output_usd(&self, tokens: u64, web_searches: u64) -> f64 {
        usd(self.output, tokens) + self.web_search * web_searches as f64 / 1e3
    }
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

/// A named regime.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// Its name.
    pub name: String,
    /// The model whose input and output prices give the dollars.
    pub base: String,
    /// Price of a cache read, as a multiple of plain input.
    pub read: f64,
    /// Price of a cache write, as a multiple of plain input.
    pub write: f64,
    /// Shortest prefix that is cached, in tokens.
    pub minimum: u64,
    /// Granularity of a match, in tokens.
    pub granularity: u64,
    /// Lifetime of a prefix after its last use, in seconds; 0 if it does not expire.
    pub ttl_seconds: u32,
    /// Dollars for a thousand web searches; 0 if they are not sold by number.
    #[serde(default)]
    pub web_search: f64,
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

    /// Rules and prices; `None` if the table does not have the base model. Requests above a tier of the base model have
    /// the tier's prices, reads and writes in the regime's proportion.
    pub fn terms(&self, models: &ModelTable) -> Option<Terms> {
        let Model { price, tier, .. } = models.find(&self.base)?;
        Some(Terms {
            rules: self.rules(),
            rates: Rates {
                input: price.input,
                read: price.input * self.read,
                write: price.input * self.write,
                output: price.output,
                web_search: self.web_search,
                tier: tier.map(|tier| Tier { cache_read: tier.input * self.read, ..tier }),
            },
        })
    }

    /// A model's own prices, context tier included, with these caching rules. If the rules keep a prefix for an hour, a
    /// write has the model's price for that, if there is one.
    pub fn priced(&self, model: &Model) -> Terms {
        let price = model.price;
        let or_input = |price_of: f64| {
            if price_of > 0.0 { price_of } else { price.input }
        };
        let write = match self.ttl_seconds {
            HOUR.. if price.cache_write_1h > 0.0 => price.cache_write_1h,
            _ => price.cache_write_5m,
        };
        Terms {
            rules: self.rules(),
            rates: Rates {
                input: price.input,
                read: or_input(price.cache_read),
                write: or_input(write),
                output: price.output,
                web_search: self.web_search,
                tier: model.tier,
            },
        }
    }
}

/// A table of regimes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegimeTable {
    /// The day that the table describes.
    pub as_of: String,
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
    /// the model's family, or with `hour`, for clients that ask for a cache of one hour, the one that keeps a prefix
    /// longest. `None` when no regime names it.
    pub fn own(&self, model: &Model, hour: bool) -> Option<Terms> {
        let mut regimes = self.regimes.iter().filter(|regime| {
            let mut families = regime.models.iter();
            families.any(|family| model.id.starts_with(family.as_str()))
        });
        let first = regimes.next()?;
        let longest =
            || regimes.fold(first, |a, b| if b.ttl_seconds > a.ttl_seconds { b } else { a });
        Some(if hour { longest() } else { first }.priced(model))
    }
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
            let rates = regimes.own(models.find(model).unwrap(), false).unwrap().rates.at(size);
            let ours = [rates.input, rates.read, rates.write, rates.output];
            assert_eq!(ours, expected, "{model} at {size}");
        }
    }

    #[test]
    fn a_cache_of_one_hour_has_its_own_price_and_life() {
        let (regimes, models) = (RegimeTable::embedded(), ModelTable::embedded());
        let rows = [
            ("claude-sonnet-4-5", false, 3.75, 300),
            ("claude-sonnet-4-5", true, 6.0, 3600),
            ("claude-opus-4-5", true, 10.0, 3600),
            // Others do not sell one.
            ("gpt-5.4", true, 2.5, 600),
            ("gemini-2.5-pro", true, 1.25, 3600),
        ];
        for (model, hour, write, seconds) in rows {
            let terms = regimes.own(models.find(model).unwrap(), hour).unwrap();
            let ours = (terms.rates.write, terms.rules.ttl_ms);
            assert_eq!(ours, (write, Some(seconds * 1000)), "{model}, {hour}");
        }
    }

    #[test]
    fn every_model_has_caching_rules() {
        let regimes = RegimeTable::embedded();
        for model in ModelTable::embedded().models {
            assert!(regimes.own(&model, false).is_some(), "{}", model.id);
        }
    }
}
