//! What the drawings share: positions in whole numbers, and round axis values.

/// Where `value` of `0..=max` lies on an axis of `length` units, rounded to the nearest.
pub(super) fn position(value: u64, max: u64, length: u64) -> u64 {
    if max == 0 {
        return 0;
    }
    (value.min(max).saturating_mul(length) + max / 2) / max
}

/// The round step, 1, 2 or 5 times a power of ten, of which at most `count` reach `max`.
pub(super) fn step(max: u64, count: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for step in [power, power.saturating_mul(2), power.saturating_mul(5)] {
            if max / step <= count {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Round values from 0 up to `max`, at most `count` steps.
pub(super) fn ticks(max: u64, count: u64) -> impl Iterator<Item = u64> {
    let step = step(max, count);
    (0..=max / step).map(move |index| index * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_values() {
        let cases: [(u64, u64, &[u64]); 5] = [
            (0, 4, &[0]),
            (3, 4, &[0, 1, 2, 3]),
            (158_000, 4, &[0, 50_000, 100_000, 150_000]),
            (470_000, 3, &[0, 200_000, 400_000]),
            (1_000_000, 2, &[0, 500_000, 1_000_000]),
        ];
        for (max, count, expect) in cases {
            assert_eq!(ticks(max, count).collect::<Vec<_>>(), expect, "{max} in {count}");
        }
        assert_eq!(position(50, 100, 96), 48);
        assert_eq!(position(200, 100, 96), 96, "never outside");
        assert_eq!(position(1, 0, 96), 0);
    }
}
