//! How likely it is that an agent reads again what it misses.

use crate::stats::SplitMix64;
use schemars::JsonSchema;
use serde::Serialize;

/// The chance that a miss is read again, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Chance {
    /// The chance.
    pub value: f64,
    /// The lower end of its interval.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

/// What recordings show after their own compactions, within 40 calls, over 18 sessions: the table of `tests/evidence/reread.py`.
pub(crate) const CHANCE: Chance = Chance { value: 0.51, lo: 0.25, hi: 1.0 };

/// The draw of a miss, at least 0 and below 1: it is read again where the draw is below the chance.
///
/// FNV-1a of the id of the session, the number of the call and the text, then the finaliser of SplitMix64; its upper 53 bits. No strategy
/// has a part in it.
pub(super) fn draw(session: &str, call: usize, kind: &str, text: &str) -> f64 {
    let call = call.to_string();
    let parts = [session, &call, kind, text].map(str::as_bytes);
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    (SplitMix64::new(hash).next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_even_and_of_their_own() {
        let draws: Vec<f64> = (0..10_000).map(|call| draw("s", call, "edit", "a b")).collect();
        for tenth in 0..10 {
            let from = f64::from(tenth) / 10.0;
            let count = draws.iter().filter(|draw| (from..from + 0.1).contains(*draw)).count();
            assert!((900..1_100).contains(&count), "{from}: {count}");
        }
        let others =
            [draw("t", 0, "edit", "a b"), draw("s", 0, "piece", "a b"), draw("s", 0, "edit", "ab")];
        assert!(others.iter().all(|other| *other != draws[0]));
        // As the rules of the judge have it.
        assert_eq!(draws[0].to_bits(), 0.678_139_115_018_673_9_f64.to_bits());
    }
}
