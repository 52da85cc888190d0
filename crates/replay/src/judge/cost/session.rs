//! The requests of a session as they are priced.

use foldback_providers::prices::{CacheUse, HitShare, Rates, RequestLog, Terms, simulate_at, usd};

/// A call of the summarizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryCall {
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
    /// The request for a recorder's own summary, as far as no usage tells of it: as large as the request before with its answer, none
    /// of it cached, and the text of the summary. Where only the provider can read that, it is the request before once more.
    pub(crate) fn estimated(call: usize, before: u64, answer: u64, text: Option<u64>) -> Self {
        let (input_tokens, shared_tokens, output_tokens) = match text {
            Some(text) => (before + answer, 0, text),
            None => (before, before, 0),
        };
        Self { call, input_tokens, shared_tokens, output_tokens, idle_ms: None }
    }

    /// Its price in dollars; `held` says whether the cache still has what it shares with the request before. Nothing of it is
    /// written to the cache: nobody goes on from it.
    fn usd(&self, rates: &Rates, held: bool) -> f64 {
        let rates = rates.at(self.input_tokens);
        let read = if held { self.shared_tokens.min(self.input_tokens) } else { 0 };
        let plain = self.input_tokens - read;
        usd(rates.read, read) + usd(rates.input, plain) + usd(rates.output, self.output_tokens)
    }
}

/// The requests of a session under one set of terms, sent through the cache once.
#[derive(Debug)]
pub(crate) struct Priced<'a> {
    log: &'a RequestLog,
    terms: &'a Terms,
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

    /// What each request cost, input and output: `p_r·read + p_w·write + p_u·uncached` and `p_o·output` at the prices of a request
    /// of that size, with searches of the web.
    pub(crate) fn requests(&self) -> impl Iterator<Item = [f64; 2]> {
        self.log.requests().iter().zip(&self.uses).map(|(request, cache)| {
            let rates = self.terms.rates.at(request.input_tokens);
            let output = rates.output_usd(request.output_tokens, request.web_searches);
            [rates.input_usd(cache), output]
        })
    }

    /// What each of the summarizer's calls cost.
    pub(crate) fn summaries(&self, asked: &[SummaryCall]) -> impl Iterator<Item = f64> {
        asked.iter().map(|summary| {
            let held = match summary.idle_ms {
                Some(idle_ms) => self.terms.rules.holds(0, idle_ms),
                None => self.uses.get(summary.call).is_none_or(|cache| !cache.expired),
            };
            summary.usd(&self.terms.rates, held)
        })
    }

    /// Tokens after the first edit that had been cached and had to be written again at a request, where the view shrank by so many
    /// tokens before it; tokens that were new anyway are not counted. And whether the cache had expired before the request, so that
    /// nothing was written again for the edit's sake. `None` if there is no such request.
    pub(crate) fn rewritten(&self, call: usize, reclaimed: u64) -> Option<(u64, bool)> {
        let (requests, cache) = (self.log.requests(), self.uses.get(call)?);
        if cache.expired || call == 0 {
            return Some((0, true));
        }
        // What of the request before is still sent, less what is read of it.
        let previous = requests.get(call - 1)?.input_tokens;
        Some((previous.saturating_sub(reclaimed).saturating_sub(cache.read), false))
    }
}
