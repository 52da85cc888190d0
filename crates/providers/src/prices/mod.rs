//! Limits and prices of models, the prompt caches of their providers, and what a request costs under both.
//!
//! A [`RequestLog`] holds the requests of one conversation as lists of blocks; a [`Cache`] tells what a provider would
//! read of each; [`Rates`] turn that into dollars. Replays of recorded sessions and the proxy count by the same ones.

mod cache;
mod models;
mod names;
mod regime;
mod request;

pub use cache::{Cache, CacheRules, CacheUse, HitShare, simulate, simulate_at};
pub use models::{Earlier, Model, ModelTable, ModelTableError, Price, Tier};
pub use regime::{Rates, Regime, RegimeTable, ServiceTerms, Terms, cache_prices, usd, used_usd};
pub use request::{Block, Call, RequestLog, SentRequest};
