//! Whether the simulated cache matches a real one: checked on recorded cache reads, as
//! far as it sent its whole log.

use derive_more::AddAssign;
use foldback_providers::prices::{Block, CacheRules, Call, RequestLog, simulate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two reads agree when they are within this share of the larger.
const TOLERANCE: f64 = 0.03;

/// A recorded call, in the provider's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedCall {
    /// Size of the request.
    pub input: u64,
    /// What of it was read from the cache.
    pub read: u64,
    /// When it was sent, in milliseconds.
    pub start_ms: Option<i64>,
}

/// Simulated against recorded cache reads. The identity `read_{t+1} ≈ input_t` of un-compacted
/// stretches is TraceLab's (uw-syfi/TraceLab, 2026).
#[derive(
    AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
pub struct Agreement {
    /// Calls with one before them in the same stretch.
    pub pairs: u64,
    /// Of those, simulated and recorded read agree.
    pub within: u64,
    /// Of the others, after a pause beyond the lifetime.
    pub late: u64,
}

/// Compares, call by call. A request smaller than the one before begins another stretch. Sessions
/// whose recorder read nothing from a cache give no pairs: they had none, or did not write it down.
pub(crate) fn agreement(calls: &[RecordedCall], rules: CacheRules) -> Agreement {
    if calls.iter().all(|call| call.read == 0) {
        return Agreement::default();
    }
    let mut log = RequestLog::default();
    // Number of blocks of the latest request, and its size.
    let (mut blocks, mut size) = (0, 0);
    for (key, call) in calls.iter().enumerate() {
        if call.input < size {
            (blocks, size) = (0, 0);
        }
        let block = Block { key: key as u64, tokens: call.input - size };
        log.push(blocks, [block], Call { start_ms: call.start_ms, ..Call::default() });
        (blocks, size) = (blocks + 1, call.input);
    }
    let uses = simulate(&log, rules);
    let mut result = Agreement::default();
    for (pair, cache) in calls.windows(2).zip(uses.iter().skip(1)) {
        let [before, call] = pair else { continue };
        if call.input < before.input {
            continue;
        }
        let difference = cache.read.abs_diff(call.read) as f64;
        let within = difference <= TOLERANCE * cache.read.max(call.read) as f64;
        result.pairs += 1;
        result.within += u64::from(within);
        result.late += u64::from(!within && cache.expired);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: CacheRules = CacheRules { minimum: 0, granularity: 1, ttl_ms: Some(300_000) };

    fn call(input: u64, read: u64, start_ms: i64) -> RecordedCall {
        RecordedCall { input, read, start_ms: Some(start_ms) }
    }

    #[test]
    fn pairs_are_those_of_one_stretch() {
        let calls = [
            call(1_000, 0, 0),
            call(2_000, 990, 1_000),     // within 3 %
            call(3_000, 1_000, 2_000),   // the provider had lost half of it
            call(4_000, 3_000, 900_000), // the provider kept it for longer than five minutes
            call(900, 0, 901_000),       // another stretch
            call(1_000, 900, 902_000),
        ];
        assert_eq!(agreement(&calls, RULES), Agreement { pairs: 4, within: 2, late: 1 });
    }

    #[test]
    fn a_recording_without_reads_says_nothing() {
        let calls = [call(1_000, 0, 0), call(2_000, 0, 1_000)];
        assert_eq!(agreement(&calls, RULES), Agreement::default());
    }
}
