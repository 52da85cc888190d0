//! Limits and prices of models: a dated data file, never code.

use super::names::{Variant, is_spelled, normalised, resolve};
use foldback_core::Limits;
use foldback_core::config::in_words;
use foldback_core::log::Service;
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::OnceLock;
use thiserror::Error;

/// Prices in USD, of tokens per million; 0 for a class that the provider does not bill separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// Input that is not read from the cache.
    pub input: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache; of Anthropic, to one that lives five minutes.
    pub cache_write_5m: f64,
    /// Input written to a cache that lives an hour.
    pub cache_write_1h: f64,
    /// Output.
    pub output: f64,
    /// A thousand searches of the web that the provider makes itself.
    pub web_search: f64,
    /// Prices of long requests, where they differ.
    pub tier: Option<Tier>,
}

/// Prices of a request whose input is above a threshold. They apply to the whole request, not to the excess.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// The threshold, in input tokens.
    pub above: u64,
    /// Input that is not read from the cache.
    pub input: f64,
    /// Input read from the cache.
    #[serde(default)]
    pub cache_read: f64,
    /// Input written to the cache.
    #[serde(default)]
    pub cache_write_5m: f64,
    /// Input written to a cache that lives an hour.
    #[serde(default)]
    pub cache_write_1h: f64,
    /// Output.
    pub output: f64,
}

/// Prices that held until a day.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// The first day on which they did not, as `2026-03-13`.
    pub until: String,
    /// The prices.
    pub price: Price,
}

/// One model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// Its name.
    pub id: String,
    /// Its other names, in lower case and with dashes for dots.
    pub names: Vec<String>,
    /// The whole window in tokens.
    pub context: u64,
    /// A larger window that the provider opens on request, for example by a beta flag; 0 if it has none.
    pub long_context: u64,
    /// Limit of the input alone.
    pub input: u64,
    /// Limit of the output.
    pub output: u64,
    /// Its prices; `None` if they are not known.
    pub price: Option<Price>,
    /// Prices of requests that ask for fast mode.
    pub fast: Option<Price>,
    /// Prices of requests that ask for priority.
    pub priority: Option<Price>,
    /// Prices of requests that may wait.
    pub flex: Option<Price>,
    /// Prices of requests in a batch.
    pub batch: Option<Price>,
    /// Earlier prices, the first first.
    pub earlier: Vec<Earlier>,
}

impl Model {
    /// Its limits.
    pub fn limits(&self) -> Limits {
        Limits { context: self.context, input: self.input, output: self.output }
    }

    /// Its larger window, if a request of `tokens` shows that it was open.
    pub fn opened_by(&self, request: u64) -> Option<u64> {
        (request > self.context && request <= self.long_context).then_some(self.long_context)
    }

    /// What a request costs that was served in this way at this time, in milliseconds since the Unix epoch; today where no
    /// time is known. A way without prices of its own costs the same.
    pub fn price_of(&self, service: Service, at_ms: Option<i64>) -> Option<&Price> {
        let own = match service {
            Service::Standard => None,
            Service::Fast => self.fast.as_ref(),
            Service::Priority => self.priority.as_ref(),
            Service::Flex => self.flex.as_ref(),
            Service::Batch => self.batch.as_ref(),
        };
        let then = || {
            let day = day(at_ms?);
            Some(&self.earlier.iter().find(|earlier| *day < *earlier.until)?.price)
        };
        own.or_else(then).or(self.price.as_ref())
    }
}

/// The day of a time, as `2026-03-13` (Howard Hinnant, chrono-compatible low-level date algorithms).
fn day(at_ms: i64) -> String {
    let days = at_ms.div_euclid(86_400_000) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) =
        (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + i64::from(month <= 2))
}

/// A table of models.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    /// The day that the table describes.
    pub as_of: String,
    /// Where its prices are from.
    #[serde(default)]
    pub source: String,
    /// The models.
    #[serde(rename = "model")]
    pub models: Vec<Model>,
}

/// Number of common leading characters that make two names near.
const LEAST_COMMON: usize = 4;

/// An error in a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "line {line}: {message}; a model table looks like `as_of = \"2026-08-21\"` and `[[model]]` with id, context, input, output, price"
)]
pub struct ModelTableError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl ModelTable {
    /// The table that ships with foldback.
    pub fn embedded() -> Self {
        static TABLE: OnceLock<ModelTable> = OnceLock::new();
        let parsed = || {
            Self::parse(include_str!("../../data/models.toml")).unwrap_or_else(|error| {
                // A test reads the embedded table, so this can't happen in a release.
                unreachable!("embedded model table: {error}")
            })
        };
        TABLE.get_or_init(parsed).clone()
    }

    /// Reads a table.
    ///
    /// # Errors
    ///
    /// The text is not TOML of this shape. The error has its line.
    pub fn parse(text: &str) -> Result<Self, ModelTableError> {
        toml::from_str(text).map_err(|error| ModelTableError {
            line: error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1),
            message: in_words(error.message()),
        })
    }

    /// The model of this recorded name: its own name, with a provider, a region, a version or a date around it. A name that
    /// asks for the larger window or for fast mode gives the model with these.
    pub fn find(&self, name: &str) -> Option<Cow<'_, Model>> {
        let known = |name: &str| {
            let mut models = self.models.iter();
            models.find(|model| {
                is_spelled(&model.id, name) || model.names.iter().any(|other| other == name)
            })
        };
        let (model, Variant { long, fast }) = resolve(name, known)?;
        if !(long || fast) {
            return Some(Cow::Borrowed(model));
        }
        let context = if long { model.context.max(model.long_context) } else { model.context };
        let price = if fast { Some(model.fast?) } else { model.price };
        let earlier = if fast { Vec::new() } else { model.earlier.clone() };
        Some(Cow::Owned(Model { context, price, earlier, ..model.clone() }))
    }

    /// The ids that share the longest beginning with `name`; empty if that beginning is short.
    pub fn near(&self, name: &str) -> Vec<&str> {
        let common = |model: &Model| {
            let (id, name) = (normalised(&model.id), normalised(name));
            id.chars().zip(name.chars()).take_while(|(a, b)| a == b).count()
        };
        let most = self.models.iter().map(common).max().unwrap_or(0);
        let near = self.models.iter().filter(|model| most >= LEAST_COMMON && common(model) == most);
        near.map(|model| model.id.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each name, its model, and the window and the price of input that it has.
    #[test]
    fn names_as_recorded_find_their_model() {
        let table = ModelTable::embedded();
        let cases = [
            ("claude-opus-4-5-20251101", "claude-opus-4-5", 200_000, 5.0),
            ("claude-sonnet-4-20250514", "claude-sonnet-4", 200_000, 3.0),
            ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5", 200_000, 3.0),
            ("claude-sonnet-4.6", "claude-sonnet-4-6", 1_000_000, 3.0),
            ("gpt-5.3-codex-high", "gpt-5.3-codex", 400_000, 1.75),
            ("gpt-5.4-mini-2026-03-17", "gpt-5.4-mini", 400_000, 0.75),
            ("gemini-3.1-pro-preview", "gemini-3.1-pro-preview", 1_048_576, 2.0),
            ("us.anthropic.claude-opus-4-8[1m]", "claude-opus-4-8", 1_000_000, 5.0),
            ("global.anthropic.claude-opus-4-8", "claude-opus-4-8", 1_000_000, 5.0),
            ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5", 1_000_000, 3.0),
            ("claude-opus-4-5@20251101", "claude-opus-4-5", 200_000, 5.0),
            ("anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5", 200_000, 1.0),
            ("openai.gpt-5.4", "gpt-5.4", 1_050_000, 2.5),
            ("openai:gpt-5.4", "gpt-5.4", 1_050_000, 2.5),
            ("claude-opus-4.8-fast", "claude-opus-4-8", 1_000_000, 10.0),
            ("anthropic/claude-opus-4-8:thinking", "claude-opus-4-8", 1_000_000, 5.0),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "claude-sonnet-4-5",
                200_000,
                3.0,
            ),
            ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5", 200_000, 3.0),
            // Each has its own price and not that of an elder or a larger one.
            ("claude-3-5-haiku-20241022", "claude-3-5-haiku", 200_000, 0.8),
            ("claude-3-haiku-20240307", "claude-3-haiku", 200_000, 0.25),
            ("claude-3-opus-20240229", "claude-3-opus", 200_000, 15.0),
            ("gpt-4o-mini", "gpt-4o-mini", 128_000, 0.15),
            ("gpt-5-nano", "gpt-5-nano", 400_000, 0.05),
            ("claude-opus-5-5", "claude-opus-5-5", 1_000_000, 4.0),
            ("claude-sonnet-5-5", "claude-sonnet-5-5", 1_000_000, 2.0),
            ("claude-fable-5-1", "claude-fable-5-1", 1_000_000, 10.0),
        ];
        for (name, id, window, input) in cases {
            let model = table.find(name).unwrap_or_else(|| panic!("{name}"));
            let price = model.price.unwrap().input;
            assert_eq!((&*model.id, model.context, price), (id, window, input), "{name}");
        }
        for name in [
            "claude-sonnet-45",
            "gpt-55",
            "gpt-5.3-codex-spark",
            "claude-3",
            "sonnet",
            "-fast",
            "",
            "us.",
        ] {
            assert_eq!(table.find(name).map(|model| model.id.clone()), None, "{name}");
        }
    }

    #[test]
    fn prices_are_those_of_the_day_and_of_the_service() {
        let table = ModelTable::embedded();
        let input = |name: &str, service, at| {
            table.find(name).unwrap().price_of(service, at).unwrap().input
        };
        // Midnight of 2026-08-21, UTC.
        let day = 1_787_270_400_000;
        let cases = [
            ("gpt-5.6-sol", Service::Standard, Some(day - 1), 5.0),
            ("gpt-5.6-sol", Service::Standard, Some(day), 4.0),
            ("gpt-5.6-sol", Service::Standard, None, 4.0),
            ("gpt-5.6-sol", Service::Priority, None, 8.0),
            ("gpt-5.4", Service::Flex, None, 1.25),
            ("claude-opus-4-8", Service::Fast, None, 10.0),
            ("claude-opus-4-8", Service::Batch, None, 2.5),
            // Anthropic's tier of that name costs the same.
            ("claude-opus-4-8", Service::Priority, None, 5.0),
        ];
        for (name, service, at, expected) in cases {
            assert_eq!(
                input(name, service, at).to_bits(),
                f64::to_bits(expected),
                "{name} {service:?} {at:?}"
            );
        }
        let days = [
            (0, "1970-01-01"),
            (day, "2026-08-21"),
            (951_782_400_000, "2000-02-29"),
            (-1, "1969-12-31"),
        ];
        for (at, expected) in days {
            assert_eq!(super::day(at), expected);
        }
    }

    #[test]
    fn a_misspelt_field_is_reported_with_its_line() {
        let error =
            ModelTable::parse("as_of = \"2026-01-01\"\n[[model]]\nid = \"x\"\ncontxt = 5\n")
                .unwrap_err();
        assert_eq!(error.line, 4, "{error}");
    }
}
