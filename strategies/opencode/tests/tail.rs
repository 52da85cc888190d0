//! Where the kept tail starts.

use foldback_opencode::tail::{budget, start, turns};

#[test]
fn budgets() {
    for (usable, expect) in [
        (168_000, 8_000),
        (32_001, 8_000),
        (16_000, 4_000),
        (8_003, 2_000),
        (4_000, 2_000),
        (0, 2_000),
    ] {
        assert_eq!(budget(usable, 2_000, 8_000), expect, "usable {usable}");
    }
    assert_eq!(budget(168_000, 2_000, 15_000), 15_000, "1.18");
    assert_eq!(budget(40_000, 2_000, 15_000), 10_000, "1.18");
}

#[test]
fn turns_begin_with_user_messages() {
    assert_eq!(turns(&[true, false, true, true]), [0..2, 2..3, 3..4]);
    let after_none = turns(&[false, true, false]);
    assert_eq!(after_none.len(), 1);
    assert_eq!(after_none[0], 1..3, "what stands before the first belongs to none");
    assert!(turns(&[]).is_empty());
}

/// Case, turns as the sizes of their messages, turns that may be kept, budget, start of the tail.
type Row = (&'static str, &'static [&'static [u64]], usize, u64, Option<usize>);

#[test]
fn starts() {
    #[rustfmt::skip]
    let rows: &[Row] = &[
        ("OC17-K1, the last two fit", &[&[5, 5], &[5, 5], &[5, 5]], 2, 100, Some(2)),
        ("OC17-K2, no turn wanted", &[&[5, 5], &[5]], 0, 100, None),
        ("OC17-K2, everything would be kept", &[&[5], &[5]], 2, 100, None),
        ("OC17-K1, exactly", &[&[5], &[5], &[5]], 2, 10, Some(1)),
        ("OC17-K1, one too many", &[&[5], &[5], &[5]], 2, 9, Some(2)),
        ("OC17-K3, split", &[&[5], &[1, 50, 4, 3]], 1, 10, Some(3)),
        ("OC17-K3, split at the first that fits", &[&[5], &[1, 2, 4, 3]], 1, 9, Some(2)),
        ("OC17-K3, a single message is not split", &[&[5], &[50]], 1, 10, None),
        ("OC17-K3, the older of two is split", &[&[5], &[50, 3], &[4]], 2, 10, Some(2)),
        ("OC17-K3, nothing left for a split", &[&[5], &[50, 0], &[10]], 2, 10, Some(3)),
        ("OC17-K3, a split ends it", &[&[5], &[1], &[50, 3], &[4]], 3, 10, Some(3)),
    ];
    for (case, sizes, limit, budget, expect) in rows {
        let flat: Vec<u64> = sizes.iter().flat_map(|turn| turn.iter().copied()).collect();
        let begins: Vec<bool> =
            sizes.iter().flat_map(|turn| (0..turn.len()).map(|index| index == 0)).collect();
        let found = start(&turns(&begins), *limit, *budget, |range| flat[range].iter().sum());
        assert_eq!(found, *expect, "{case}");
    }
}
