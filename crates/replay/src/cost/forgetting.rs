//! The forgetting cost: what a session would cost at worst if everything missed were read again.

use foldback_providers::prices::{Rates, usd};

/// Output tokens of a call that reads something again.
const REQUEST_TOKENS: u64 = 60;

/// Something that the recorded agent used and the view no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reread {
    /// Size of the request at that call, in tokens.
    pub input_tokens: u64,
    /// Size of what would be read again, in tokens.
    pub result_tokens: u64,
    /// Calls that would carry it until it is cleared again.
    pub calls: u64,
}

/// Adds to the replayed dollars, per would-be re-read,
/// `p_r·C + p_o·q + p_w·(q + z) + p_r·(q + z)·calls` with `q` = 60 output tokens.
pub fn pessimistic_usd(replayed_usd: f64, rates: &Rates, rereads: &[Reread]) -> f64 {
    let extra: f64 = rereads
        .iter()
        .map(|reread| {
            let rates = rates.at(reread.input_tokens);
            let carried = REQUEST_TOKENS + reread.result_tokens;
            usd(rates.read, reread.input_tokens)
                + usd(rates.output, REQUEST_TOKENS)
                + usd(rates.written(), carried)
                + usd(rates.read, carried) * reread.calls as f64
        })
        .sum();
    replayed_usd + extra
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reread_is_charged_until_it_is_cleared_again() {
        let rates = Rates { input: 1.0, read: 0.1, write: 1.25, output: 5.0, ..Rates::default() };
        let reread = Reread { input_tokens: 100_000, result_tokens: 940, calls: 10 };
        let extra = pessimistic_usd(1.0, &rates, &[reread]) - 1.0;
        let expected = 0.01 + 0.0003 + 0.00125 + 0.001;
        assert!((extra - expected).abs() < 1e-12, "{extra}");
    }
}
