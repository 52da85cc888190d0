use super::*;
use crate::prices::request::{Block, Call};

const WARM: CacheRules = CacheRules { minimum: 0, granularity: 1, ttl_ms: Some(300_000) };

/// When a request is sent, in seconds, and the keys of its blocks; each weighs a thousand tokens.
type Sent<'a> = (i64, &'a [u64]);

fn log(requests: &[Sent<'_>]) -> RequestLog {
    let mut log = RequestLog::default();
    for (seconds, keys) in requests {
        let blocks = keys.iter().map(|key| Block { key: *key, tokens: 1000 });
        let call = Call { start_ms: Some(seconds * 1000), ..Call::default() };
        log.push(0, blocks, call);
    }
    log
}

/// Thousands read at each request.
fn reads(requests: &[Sent<'_>], rules: CacheRules) -> Vec<u64> {
    simulate(&log(requests), rules).iter().map(|cache| cache.read).collect()
}

#[test]
fn the_longest_living_prefix_is_read() {
    let cases: [(&str, &[Sent<'_>], &[u64]); 6] = [
        ("append only", &[(0, &[1]), (1, &[1, 2]), (2, &[1, 2, 3])], &[0, 1000, 2000]),
        ("an edit in the middle", &[(0, &[1, 2, 3]), (1, &[1, 9, 3, 4])], &[0, 1000]),
        (
            "back to an earlier one",
            &[(0, &[1, 2, 3]), (1, &[1, 9]), (2, &[1, 2, 3, 4])],
            &[0, 1000, 3000],
        ),
        ("too long a pause", &[(0, &[1, 2]), (301, &[1, 2, 3]), (302, &[1, 2, 3])], &[0, 0, 3000]),
        ("refreshed by use", &[(0, &[1]), (300, &[1]), (600, &[1, 2])], &[0, 1000, 1000]),
        (
            "the earlier one expired",
            &[(0, &[1, 2, 3]), (200, &[1, 9]), (400, &[1, 2, 3])],
            &[0, 1000, 1000],
        ),
    ];
    for (name, requests, expected) in cases {
        assert_eq!(reads(requests, WARM), expected, "{name}");
    }
}

/// What a recording tells of the cache stands above the lifetime, for the longest prefix that is alive.
#[test]
fn what_a_recording_tells_is_held() {
    let third = Some(HitShare { read: 1, of: 3 });
    let (all, nothing) = (Some(HitShare { read: 9, of: 9 }), Some(HitShare { read: 0, of: 9 }));
    // The requests, what is told by request, thousands read, and whether the last counts as expired.
    type Row<'a> = (&'a [Sent<'a>], [Option<HitShare>; 3], [u64; 3], bool);
    let late: &[Sent<'_>] = &[(0, &[1, 2, 3]), (1, &[1, 2, 3, 4]), (999, &[1, 2, 3, 4, 5])];
    let back: &[Sent<'_>] = &[(0, &[1, 2, 3]), (1, &[1, 9]), (2, &[1, 2, 3, 4])];
    let rows: [Row<'_>; 6] = [
        (late, [None, None, None], [0, 3000, 0], true),
        (late, [None, third, all], [0, 1000, 4000], false),
        (late, [third, None, nothing], [1000, 3000, 0], true),
        (late, [all, None, None], [3000, 3000, 0], true),
        (back, [None, None, third], [0, 1000, 1000], true),
        (back, [None, nothing, all], [0, 0, 3000], false),
    ];
    for (requests, told, expected, expired) in rows {
        let log = log(requests);
        let uses = simulate_at(&log, &log.starts(), &told, WARM);
        let reads: Vec<u64> = uses.iter().map(|cache| cache.read).collect();
        assert_eq!((&reads[..], uses[2].expired), (&expected[..], expired), "{told:?}");
    }
}

#[test]
fn minimum_and_granularity_cut_what_is_cached() {
    let two: &[Sent<'_>] = &[(0, &[1, 2]), (1, &[1, 2, 3])];
    // minimum, granularity, read and write and uncached of the second request
    let cases = [
        (0, 1, [2000, 1000, 0]),
        (2000, 1, [2000, 1000, 0]),
        (2001, 1, [0, 3000, 0]),
        (3001, 1, [0, 0, 3000]),
        (1024, 128, [1920, 1024, 56]),
    ];
    for (minimum, granularity, expected) in cases {
        let rules = CacheRules { minimum, granularity, ..WARM };
        let second = simulate(&log(two), rules)[1];
        let ours = [second.read, second.write, second.uncached];
        assert_eq!(ours, expected, "{minimum} {granularity}");
    }
}

#[test]
fn churn_is_for_edits_and_not_for_pauses() {
    let cases: [(&str, &[Sent<'_>], u64, bool); 3] = [
        ("append", &[(0, &[1, 2]), (1, &[1, 2, 3])], 0, false),
        ("pause", &[(0, &[1, 2]), (999, &[1, 2, 3])], 0, true),
        ("edit", &[(0, &[1, 2, 3]), (1, &[1, 9, 3])], 2000, false),
    ];
    for (name, requests, churn, expired) in cases {
        let second = simulate(&log(requests), WARM)[1];
        assert_eq!((second.churn, second.expired), (churn, expired), "{name}");
    }
}

/// A prefix comes back in pieces: what two earlier requests had one after the other.
#[test]
fn prefixes_come_back_piece_by_piece() {
    let requests: &[Sent<'_>] = &[
        (0, &[1, 2, 3, 4, 5]),
        (1, &[1, 2, 3, 9]),
        (2, &[1, 2, 8]),
        (3, &[1, 7]),
        // Of 2 and 3 the requests at 2 and 1 were the last, of 4 the one at 0.
        (4, &[1, 2, 3, 4, 6]),
    ];
    assert_eq!(reads(requests, WARM), [0, 3000, 2000, 1000, 4000]);
    let late: Vec<Sent<'_>> = requests.iter().map(|(second, keys)| (second * 100, *keys)).collect();
    assert_eq!(reads(&late, WARM), [0, 3000, 2000, 1000, 3000]);
    // A request given as what differs from the one before is the same request.
    let mut log = log(&requests[..1]);
    let block = |key| Block { key, tokens: 1000 };
    for (same, keys) in [(2, &[3, 9][..]), (2, &[8]), (1, &[7]), (0, &[1, 2, 3, 4, 6])] {
        log.push(same, keys.iter().map(|key| block(*key)), Call::default());
    }
    let whole: Vec<_> = simulate(&log, WARM).iter().map(|cache| cache.read).collect();
    assert_eq!(whole, reads(requests, WARM));
}
