//! The firing ledger: what each compaction saved, what it cost, and whether it paid for itself.

use super::session::Priced;
use foldback_providers::prices::usd;

/// A compaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LedgerFiring {
    /// Number of the request that came next.
    pub call: usize,
    /// `R`: by how many tokens the view shrank.
    pub reclaimed: u64,
    /// `S`: dollars of the summarizer call; 0 without one.
    pub summary_usd: f64,
}

/// One line of the ledger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LedgerRow {
    /// `W`: tokens after the first edit that had been cached and had to be written again; tokens
    /// that were new anyway are not counted.
    pub rewritten: u64,
    /// The cache had expired before the call, so that nothing was written again for the edit's sake.
    pub cold: bool,
    /// `N*`: calls after which it pays; `None` when it never does.
    pub break_even: Option<f64>,
    /// `N`: calls that followed until the next compaction or the end, the next one included.
    pub calls: usize,
    /// Dollars saved over those calls; negative when it did not pay.
    pub net_usd: f64,
}

impl LedgerRow {
    /// Whether the saving outweighed the cost.
    pub(crate) fn paid_back(&self) -> bool {
        self.net_usd > 0.0
    }
}

impl Priced<'_> {
    /// Sets up the ledger; firings are in order of their calls, and those without a request behind them
    /// are left out.
    ///
    /// Warm: `saving(N) = p_r·R·N - (p_w - p_r)·W - S`. Cold: the first call would have written `R`, so it
    /// saves `p_w·R` and each later one `p_r·R`. The later calls are taken to be warm.
    pub(crate) fn ledger(&self, firings: &[LedgerFiring]) -> Vec<LedgerRow> {
        let Self { log, terms, uses } = self;
        let requests = log.requests();
        let mut rows = Vec::new();
        for (at, firing) in firings.iter().enumerate() {
            let (Some(request), Some(cache)) = (requests.get(firing.call), uses.get(firing.call))
            else {
                continue;
            };
            let next = firings[at + 1..]
                .iter()
                .map(|later| later.call)
                .find(|call| *call > firing.call)
                .unwrap_or(requests.len())
                .min(requests.len());
            let calls = next - firing.call;
            let rates = terms.rates.at(request.input_tokens);
            let cold = cache.expired || firing.call == 0;
            // What of the request before is still sent, less what is read of it.
            let previous = firing.call.checked_sub(1).map_or(0, |call| requests[call].input_tokens);
            let rewritten = if cold {
                0
            } else {
                previous.saturating_sub(firing.reclaimed).saturating_sub(cache.read)
            };
            let per_call = usd(rates.read, firing.reclaimed);
            let first = if cold { usd(rates.written(), firing.reclaimed) } else { per_call };
            let fixed = usd(rates.written() - rates.read, rewritten) + firing.summary_usd;
            let break_even = if fixed <= 0.0 {
                Some(0.0)
            } else if per_call <= 0.0 {
                None
            } else {
                // Calls beyond the first that are needed, and the first.
                Some(if fixed <= first { fixed / first } else { 1.0 + (fixed - first) / per_call })
            };
            rows.push(LedgerRow {
                rewritten,
                cold,
                break_even,
                calls,
                net_usd: first + per_call * calls.saturating_sub(1) as f64 - fixed,
            });
        }
        rows
    }
}
