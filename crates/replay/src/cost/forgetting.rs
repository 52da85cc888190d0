//! The forgetting cost: what a session would cost at worst if everything missed were read again.

use foldback_providers::prices::{Rates, usd};
use serde::Serialize;

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

/// What a session costs if nothing missed mattered, and if all of it did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The replayed dollars.
    pub optimistic: f64,
    /// The same and every would-be re-read.
    pub pessimistic: f64,
    /// Would-be re-reads: by so many calls a live session could be longer.
    pub rereads: usize,
}

/// Adds to the replayed dollars, per would-be re-read,
/// `p_r·C + p_o·q + p_w·(q + z) + p_r·(q + z)·calls` with `q` = 60 output tokens.
pub fn bounds(replayed_usd: f64, rates: &Rates, rereads: &[Reread]) -> Bounds {
    let extra: f64 = rereads
        .iter()
        .map(|reread| {
            let rates = rates.at(reread.input_tokens);
            let carried = REQUEST_TOKENS + reread.result_tokens;
            usd(rates.read, reread.input_tokens)
                + usd(rates.output, REQUEST_TOKENS)
                + usd(rates.write, carried)
                + usd(rates.read, carried) * reread.calls as f64
        })
        .sum();
    Bounds { optimistic: replayed_usd, pessimistic: replayed_usd + extra, rereads: rereads.len() }
}

/// Which of two is cheaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first, even if it re-reads everything and the second nothing.
    First,
    /// The second, likewise.
    Second,
    /// It depends on whether the agent reads again.
    Depends,
}

/// Compares two by their bounds.
pub fn compare(first: &Bounds, second: &Bounds) -> Verdict {
    if first.pessimistic < second.optimistic {
        Verdict::First
    } else if second.pessimistic < first.optimistic {
        Verdict::Second
    } else {
        Verdict::Depends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reread_is_charged_until_it_is_cleared_again() {
        let rates =
            Rates { input: 1.0, read: 0.1, write: 1.25, output: 5.0, web_search: 0.0, tier: None };
        let reread = Reread { input_tokens: 100_000, result_tokens: 940, calls: 10 };
        let ours = bounds(1.0, &rates, &[reread]);
        let expected = 0.01 + 0.0003 + 0.00125 + 0.001;
        assert!((ours.pessimistic - ours.optimistic - expected).abs() < 1e-12, "{ours:?}");
        let cases = [
            ((1.0, 1.2), (1.3, 1.4), Verdict::First),
            ((1.3, 1.4), (1.0, 1.2), Verdict::Second),
            ((1.0, 1.35), (1.3, 1.3), Verdict::Depends),
            ((1.0, 1.0), (1.0, 1.0), Verdict::Depends),
        ];
        let of = |(optimistic, pessimistic)| Bounds { optimistic, pessimistic, rereads: 0 };
        for (first, second, verdict) in cases {
            assert_eq!(compare(&of(first), &of(second)), verdict, "{first:?} {second:?}");
        }
    }
}
