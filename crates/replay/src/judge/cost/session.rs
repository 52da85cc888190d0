//! The bill of a session.

use foldback_providers::prices::{CacheUse, HitShare, Rates, RequestLog, Terms, simulate_at, usd};

/// A call of the summarizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SummaryCall {
    /// Number of the request that came next.
    pub call: usize,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Those of them that the request before had: 0 for a prompt of its own.
    pub shared_tokens: u64,
    /// Tokens of the summary.
    pub output_tokens: u64,
    /// Milliseconds after the request before, if it was sent while the agent waited for its user; else it is sent with the request that
    /// came next.
    pub idle_ms: Option<i64>,
}

impl SummaryCall {
    /// Its price in dollars; `held` says whether the cache still has what it shares with the request before. Nothing of it is
    /// written to the cache: nobody goes on from it.
    fn usd(&self, rates: &Rates, held: bool) -> f64 {
        let rates = rates.at(self.input_tokens);
        let read = if held { self.shared_tokens.min(self.input_tokens) } else { 0 };
        let plain = self.input_tokens - read;
        usd(rates.read, read) + usd(rates.input, plain) + usd(rates.output, self.output_tokens)
    }
}

/// The bill of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SessionCost {
    /// Dollars for input.
    pub input_usd: f64,
    /// Dollars for output, and for what the provider searched the web for it.
    pub output_usd: f64,
    /// Dollars of each summarizer call, in the order given.
    pub summaries: Vec<f64>,
    /// Tokens read from the cache, by the counts of the log.
    pub read_tokens: u64,
    /// Everything together, in dollars.
    pub usd: f64,
}

/// The requests of a session under one set of terms, sent through the cache once.
#[derive(Debug)]
pub(crate) struct Priced<'a> {
    pub(super) log: &'a RequestLog,
    pub(super) terms: &'a Terms,
    pub(crate) uses: Vec<CacheUse>,
}

impl<'a> Priced<'a> {
    /// Sends the requests through the cache.
    #[cfg(test)]
    pub(crate) fn new(log: &'a RequestLog, terms: &'a Terms) -> Self {
        Self::at(log, &log.starts(), &[], terms)
    }

    /// The same at other times and with what a recording tells of the cache, both in the order of the requests.
    pub(crate) fn at(
        log: &'a RequestLog,
        starts: &[Option<i64>],
        held: &[Option<HitShare>],
        terms: &'a Terms,
    ) -> Self {
        Self { log, terms, uses: simulate_at(log, starts, held, terms.rules) }
    }

    /// Prices the session: `p_r·read + p_w·write + p_u·uncached + p_o·output` per call, at the prices of a
    /// request of that size, searches of the web, and the summarizer's calls.
    pub(crate) fn cost(&self, summaries: &[SummaryCall]) -> SessionCost {
        let mut bill = SessionCost::default();
        for (request, cache) in self.log.requests().iter().zip(&self.uses) {
            let rates = self.terms.rates.at(request.input_tokens);
            let input_usd = rates.input_usd(cache);
            let output_usd = rates.output_usd(request.output_tokens, request.web_searches);
            bill.input_usd += input_usd;
            bill.output_usd += output_usd;
            bill.read_tokens += cache.read;
            bill.usd += input_usd + output_usd;
        }
        for summary in summaries {
            let held = match summary.idle_ms {
                Some(idle_ms) => self.terms.rules.holds(0, idle_ms),
                None => self.uses.get(summary.call).is_none_or(|cache| !cache.expired),
            };
            let price = summary.usd(&self.terms.rates, held);
            bill.usd += price;
            bill.summaries.push(price);
        }
        bill
    }
}
