//! What the requests of a session cost: the prompt cache with its minimum, granularity and lifetime,
//! price regimes, summarizer calls, and what a compaction makes the cache write again.
//!
//! A [`RequestLog`] holds the requests of one replay as lists of blocks; a replay fills it, or you do
//! by hand. [`Priced`] prices it under [`Terms`]: a provider's caching
//! rules with its prices.
//!
//! Tokens saved are not money saved: an edit in the middle of a cached prefix makes everything after
//! it be written again.

mod call;
mod held;
mod session;
mod terms;
#[cfg(test)]
mod tests;

pub(crate) use call::{call_of, output_of, recorded_output, start_of};
pub use foldback_providers::prices::{
    Block, CacheRules, CacheUse, HitShare, Rates, Regime, RegimeTable, RequestLog, SentRequest,
    ServiceTerms, Terms,
};
pub(crate) use held::held;
pub(crate) use session::Priced;
pub use session::SummaryCall;
pub(crate) use terms::NamedTerms;
pub use terms::OWN;
