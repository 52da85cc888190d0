//! The bill of a session.

use foldback_providers::prices::{CacheUse, RequestLog, Terms, simulate_at, usd};
use serde::Serialize;

/// One call and its price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CallCost {
    /// What the cache did.
    pub cache: CacheUse,
    /// Dollars for input.
    pub input_usd: f64,
    /// Dollars for output, and for what the provider searched the web for it.
    pub output_usd: f64,
}

/// A call of the summarizer, with a prompt of its own: nothing of it is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryCall {
    /// Number of the request that came next.
    pub call: usize,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the summary.
    pub output_tokens: u64,
}

/// The bill of a session. Token counts are those of the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionCost {
    /// The calls.
    pub calls: Vec<CallCost>,
    /// Dollars of each summarizer call, in the order given.
    pub summaries: Vec<f64>,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens read from the cache.
    pub read_tokens: u64,
    /// Tokens that edits made be written again.
    pub churn_tokens: u64,
    /// Everything together, in dollars.
    pub usd: f64,
}

impl SessionCost {
    /// Share of the input that was read from the cache, by tokens; `None` without input.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.input_tokens > 0).then(|| self.read_tokens as f64 / self.input_tokens as f64)
    }
}

/// The requests of a session under one set of terms, sent through the cache once.
#[derive(Debug)]
pub struct Priced<'a> {
    pub(super) log: &'a RequestLog,
    pub(super) terms: &'a Terms,
    pub(super) uses: Vec<CacheUse>,
}

impl<'a> Priced<'a> {
    /// Sends the requests through the cache.
    pub fn new(log: &'a RequestLog, terms: &'a Terms) -> Self {
        Self::at(log, &log.starts(), terms)
    }

    /// The same at other times, in the order of the requests.
    pub fn at(log: &'a RequestLog, starts: &[Option<i64>], terms: &'a Terms) -> Self {
        Self { log, terms, uses: simulate_at(log, starts, terms.rules) }
    }

    /// Prices the session: `p_r·read + p_w·write + p_u·uncached + p_o·output` per call, at the prices of a
    /// request of that size, searches of the web, and the summarizer's calls.
    pub fn cost(&self, summaries: &[SummaryCall]) -> SessionCost {
        let mut bill = SessionCost::default();
        for (request, cache) in self.log.requests().iter().zip(&self.uses) {
            let rates = self.terms.rates.at(request.input_tokens);
            let call = CallCost {
                cache: *cache,
                input_usd: rates.input_usd(cache),
                output_usd: rates.output_usd(request.output_tokens, request.web_searches),
            };
            bill.input_tokens += request.input_tokens;
            bill.read_tokens += cache.read;
            bill.churn_tokens += cache.churn;
            bill.usd += call.input_usd + call.output_usd;
            bill.calls.push(call);
        }
        for summary in summaries {
            let price = self.summary_usd(summary);
            bill.usd += price;
            bill.summaries.push(price);
        }
        bill
    }

    /// Dollars of a summarizer call.
    pub fn summary_usd(&self, summary: &SummaryCall) -> f64 {
        let rates = self.terms.rates.at(summary.input_tokens);
        usd(rates.input, summary.input_tokens) + usd(rates.output, summary.output_tokens)
    }
}
