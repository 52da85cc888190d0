use super::*;
use foldback_providers::prices::{Call, simulate};

const WARM: CacheRules = CacheRules { minimum: 0, granularity: 1, ttl_ms: Some(300_000) };
const RATES: Rates = Rates {
    input: 1.0,
    read: 0.1,
    write: 1.25,
    write_1h: 1.25,
    hour: 0.0,
    output: 5.0,
    web_search: 10.0,
    tier: None,
};

/// When a request is sent, in seconds, and the keys of its blocks; each weighs a thousand tokens.
type Sent<'a> = (i64, &'a [u64]);

fn log(requests: &[Sent<'_>]) -> RequestLog {
    let mut log = RequestLog::default();
    for (seconds, keys) in requests {
        let blocks = keys.iter().map(|key| Block { key: *key, tokens: 1000 });
        let call = Call { start_ms: Some(seconds * 1000), output_tokens: 100, ..Call::default() };
        log.push(0, blocks, call);
    }
    log
}

#[test]
fn a_session_is_billed_with_its_summaries() {
    let log = log(&[(0, &[1, 2]), (1, &[1, 2, 3]), (2, &[1, 8])]);
    let terms = Terms { rules: WARM, rates: RATES };
    let (input_tokens, output_tokens) = (3000, 200);
    let summary =
        SummaryCall { call: 2, input_tokens, shared_tokens: 0, output_tokens, idle_ms: None };
    let priced = Priced::new(&log, &terms);
    let usd: f64 = priced.requests().flatten().sum();
    // Written 2 + 1 + 1, read 2 + 1 thousand; three answers of a hundred.
    let calls = 4000.0 * 1.25e-6 + 3000.0 * 0.1e-6 + 300.0 * 5e-6;
    let expected = 3000.0 * 1e-6 + 200.0 * 5e-6;
    assert!((priced.summaries(&[summary]).sum::<f64>() - expected).abs() < 1e-12, "{priced:?}");
    assert!((usd - calls).abs() < 1e-12, "{priced:?}");
    assert_eq!(priced.uses.iter().map(|cache| cache.read).sum::<u64>(), 3000);
}

/// A summary reads what it shares with the request before from a cache that still has it when the summary is asked for.
#[test]
fn a_summary_is_read_while_the_cache_is_warm() {
    // Seconds until the next request, and until the summary was asked for while the agent waited; whether it is read.
    let rows = [
        (300, None, true),
        (301, None, false),
        (999, Some(240), true),
        (999, Some(300), true),
        (999, Some(301), false),
        (1, Some(301), false),
    ];
    for (next, idle, is_read) in rows {
        let log = log(&[(0, &[1, 2]), (next, &[1, 8])]);
        let terms = Terms { rules: WARM, rates: RATES };
        let idle_ms = idle.map(|seconds: i64| seconds * 1_000);
        let (input_tokens, shared_tokens, output_tokens) = (3000, 2000, 0);
        let asked = SummaryCall { call: 1, input_tokens, shared_tokens, output_tokens, idle_ms };
        let usd: f64 = Priced::new(&log, &terms).summaries(&[asked]).sum();
        let expected = if is_read { 1000.0 + 200.0 } else { 3000.0 } * 1e-6;
        assert!((usd - expected).abs() < 1e-12, "{next} s, {idle:?}: {usd}");
    }
}

#[test]
fn what_an_edit_has_written_again() {
    // Three blocks of ten are cleared after the first; six are written again.
    let before: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let after: &[u64] = &[1, 5, 6, 7, 8, 9, 10, 11];
    let terms = Terms { rules: WARM, rates: RATES };
    for (seconds, expected) in [(1, (6000, false)), (999, (0, true))] {
        let requests = log(&[(0, before), (seconds, after)]);
        let priced = Priced::new(&requests, &terms);
        assert_eq!(priced.rewritten(1, 3000), Some(expected), "after {seconds} seconds");
        assert_eq!((priced.rewritten(0, 3000), priced.rewritten(2, 3000)), (Some((0, true)), None));
    }
}

/// Recorded cache reads against the simulator, on the stretches that the recorder did not compact.
/// Requests are put together from recorded sizes, so that no tokenizer stands between. Clients ask
/// for five minutes or for an hour and do not all write down which, so the sessions are held against
/// both. After a real expiry a recorded read is seldom zero: other sessions keep the system prompt warm.
#[foldback_needs::sessions]
#[test]
fn recorded_cache_reads_are_what_the_simulator_says() {
    let paths = foldback_test_support::sessions_of("claude-code");
    let regimes = RegimeTable::embedded();
    for name in ["anthropic-5m", "anthropic-1h"] {
        let rules = regimes.find(name).unwrap().rules();
        let (mut pairs, mut within) = (0, 0);
        for path in &paths {
            let Some(ours) = reads(path, rules) else {
                continue;
            };
            println!("{name} {}: {ours:?}", path.file_stem().unwrap().display());
            pairs += ours[0];
            within += ours[1];
        }
        println!("{name}: {within} of {pairs} within 3 %");
        assert!(pairs > 0, "{name}: no call with a recorded cache read");
        assert!(within * 100 >= pairs * 95, "{name}: {within} of {pairs} within 3 %");
    }
}

/// Calls of a stretch with one before them, and of those with a read within 3 % of the larger.
fn reads(path: &std::path::Path, rules: CacheRules) -> Option<[usize; 2]> {
    let bytes = std::fs::read(path).ok()?;
    let session = foldback_formats::read(&bytes, None).ok()?.into_iter().next()?;
    let boundaries = session.boundaries.iter().map(|boundary| boundary.before);
    let until = boundaries.min().unwrap_or(usize::MAX);
    let (mut log, mut recorded) = (RequestLog::default(), Vec::new());
    // Blocks of the request before, and its size. A request smaller than that begins another stretch.
    let (mut blocks, mut size) = (0, 0);
    let mut before: Option<i64> = None;
    for message in session.messages.iter().take(until) {
        let answer = message.answer.as_ref();
        let usage = answer.and_then(|answer| answer.usage);
        if let Some(usage) = usage.filter(|usage| usage.input_total() > 0) {
            let input = usage.input_total();
            if input < size {
                (blocks, size) = (0, 0);
            }
            let block = Block { key: recorded.len() as u64, tokens: input - size };
            let start_ms = answer.and_then(|answer| answer.started).or(before).or(message.at);
            log.push(blocks, [block], Call { start_ms, ..Call::default() });
            recorded.push((blocks > 0, usage.cache_read));
            (blocks, size) = (blocks + 1, input);
        }
        before = message.at.or(before);
    }
    let reads = simulate(&log, rules);
    let pairs = recorded.iter().zip(&reads).filter(|((follows, _), _)| *follows);
    let within =
        |(told, made): (u64, u64)| made.abs_diff(told) as f64 <= 0.03 * made.max(told) as f64;
    let pairs: Vec<bool> = pairs.map(|((_, told), made)| within((*told, made.read))).collect();
    let any = recorded.iter().any(|(_, read)| *read > 0);
    any.then(|| [pairs.len(), pairs.iter().filter(|within| **within).count()])
}
